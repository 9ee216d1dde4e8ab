"""``hashnlp sentences train``: train a sentence encoder on a text file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal, TypeAlias

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._parameters import Bundles, Training, parameters_option
from sklearn_hashnlp.cli._progress import shown_training
from sklearn_hashnlp.cli._reading import check_text_file
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.sentences._load_encoder import EncoderFolder, Threads

Paragraph: TypeAlias = Literal["line", "block"]


def _models() -> Iterator[tuple[str, Any, Bundles]]:
    from sklearn_hashnlp.sentences import SGNNSentenceEncoder

    yield "hashnlp sentences train", SGNNSentenceEncoder(), _bundles()


def _bundles() -> Bundles:
    from sklearn_hashnlp.sentences import Network, Objectives

    return {"network": Network(), "objectives": Objectives()}


@reporting_errors
def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Paragraphs, or a dump of Wikipedia (.xml); also .gz, .bz2, .xz, .zip.",
        ),
    ],
    model: EncoderFolder,
    training: Training,
    reading: LineOptions,
    screen: Screen,
    paragraphs: Paragraph = typer.Option(
        "line",
        help="line: every line is a paragraph. block: paragraphs are separated by blank lines.",
    ),
    n_jobs: Threads = 1,
    # its callback prints and exits
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001
) -> None:
    """Train a sentence encoder on the paragraphs of a text file, and save it.

      hashnlp sentences train articles.txt --model encoder
      hashnlp sentences train book.txt --model encoder --paragraphs block
      hashnlp sentences train articles.txt.gz --model encoder --epochs 2 --seed 1
      hashnlp sentences train enwiki-latest-pages-articles.xml.bz2 -m encoder
      hashnlp sentences train articles.txt -m encoder --set max_sentences=16
      hashnlp sentences train --parameters

    Train it on the texts that you want to search, or on similar texts; some thousand paragraphs are
    enough to begin with. With --paragraphs line every line is a paragraph; with --paragraphs block
    a paragraph ends at a blank line. Sentences of the same paragraph are learned to be similar, so
    a paragraph should have more than one sentence. The learning rate is 0.001 by default, which
    suits an encoder without Transformer layers; with such layers, as by --set network__n_layers=2,
    try --learning-rate 0.0005.

    The model is an SGNNSentenceEncoder: --set NAME=VALUE sets any of its parameters, and
    --parameters lists them; values are checked before FILE is read.

    An existing model in DIR is replaced when training has finished; Ctrl-C keeps it.
    """
    check_text_file(data)
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.sentences import SGNNSentenceEncoder

    save_model(None, model, dry_run=True)
    encoder = SGNNSentenceEncoder(learning_rate=1e-3)
    training.configure(encoder, _bundles(), n_jobs=n_jobs)
    texts = _read_paragraphs(screen, data, reading, paragraphs)
    started = perf_counter()
    with shown_training(screen, encoder):
        encoder.fit(texts)
    seconds = perf_counter() - started
    save_model(encoder, model)
    report = {
        "model": str(model),
        "n_paragraphs": len(texts),
        "n_sentences": sum(map(len, texts)),
        "n_parameters": encoder.n_parameters_,
        "seconds": round(seconds, 3),
        "history": encoder.history_,
    }
    screen.result(report, [f"Trained in {seconds:.1f} s", f"Saved in {model}"])
    command = '{hashnlp} sentences search --model {path} FILE "what to search for"'
    screen.next_step("search a file, one text per line", command, path=model)


def _read_paragraphs(
    screen: Screen, data: Path, reading: LineOptions, kind: Paragraph
) -> list[list[str]]:
    """Return the sentences of each paragraph."""
    from sklearn_hashnlp.datasets import stream_paragraphs, stream_wikipedia
    from sklearn_hashnlp.text import split_sentences

    is_dump = data.name.endswith((".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".xml.zip"))
    with screen.bar(f"Reading {data.name}"), screen.warnings_as_notes():
        paragraphs = (
            stream_wikipedia(data)
            if is_dump
            else stream_paragraphs(data, paragraph=kind, **vars(reading))
        )
        texts = [split_sentences(text) for text in paragraphs]
    if not texts:
        raise ValueError(f"{data} has no text to train on.")
    n_sentences = sum(map(len, texts))
    separated = (
        "of a dump" if is_dump else "a line each" if kind == "line" else "separated by blank lines"
    )
    numbers = (
        f"{counted(len(texts), 'paragraph')}, {separated}, with {counted(n_sentences, 'sentence')}"
    )
    screen.note(f"Read {numbers} from {data}")
    if kind == "line" and not is_dump and n_sentences == len(texts) > 1:
        screen.note(
            "Every line is one sentence. If blank lines separate paragraphs, use --paragraphs "
            "block."
        )
    return texts
