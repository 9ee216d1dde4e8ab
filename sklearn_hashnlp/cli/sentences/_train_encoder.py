"""``hashnlp sentences train``: train a sentence encoder on a text file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal, TypeAlias

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._parameters import Bundles, Training, check_parameters, parameters_option, set_parameters
from sklearn_hashnlp.cli._reading import check_text_file
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.sentences._load_encoder import EncoderFolder, Threads, read_vectors

_LEARNING_RATE = 1e-3

Paragraph: TypeAlias = Literal["line", "block"]


def _models() -> Iterator[tuple[str, Any, Bundles]]:
    from sklearn_hashnlp.sentences import DistilledSentenceEncoder, SGNNSentenceEncoder

    yield "hashnlp sentences train", SGNNSentenceEncoder(), _bundles()
    yield "\nhashnlp sentences train --vectors", DistilledSentenceEncoder(), {}


def _bundles() -> Bundles:
    from sklearn_hashnlp.sentences import Network, Objectives

    return {"network": Network(), "objectives": Objectives()}


@reporting_errors
def train(
    data: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Paragraphs, or a dump of Wikipedia (.xml); also .gz, .bz2, .xz, .zip."),
    ],
    model: EncoderFolder,
    training: Training,
    reading: LineOptions,
    screen: Screen,
    paragraphs: Paragraph = typer.Option(
        "line", help="line: every line is a paragraph. block: paragraphs are separated by blank lines."
    ),
    vectors: Path | None = typer.Option(None, metavar="FILE", help="Vectors of the lines to learn, a .npy file."),
    n_jobs: Threads = 1,
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001 - its callback prints and exits
) -> None:
    """Train a sentence encoder on the paragraphs of a text file, and save it.

      hashnlp sentences train articles.txt --model encoder
      hashnlp sentences train book.txt --model encoder --paragraphs block
      hashnlp sentences train articles.txt.gz --model encoder --epochs 2 --seed 1
      hashnlp sentences train enwiki-latest-pages-articles.xml.bz2 -m encoder
      hashnlp sentences train articles.txt -m encoder --set max_sentences=16
      hashnlp sentences train texts.txt --model encoder --vectors vectors.npy
      hashnlp sentences train --parameters

    Train it on the texts that you want to search, or on similar texts; some thousand paragraphs are
    enough to begin with. With --paragraphs line every line is a paragraph; with --paragraphs block
    a paragraph ends at a blank line. Sentences of the same paragraph are learned to be similar, so
    a paragraph should have more than one sentence. The learning rate is 0.001 by default, which
    suits an encoder without Transformer layers; with such layers, as by --set network__n_layers=2,
    try --learning-rate 0.0005.

    With --vectors the encoder learns to reproduce vectors that another model, such as a
    Transformer, has computed for the lines of FILE: a NumPy array of one row per line, as
    numpy.save writes it. It has no epochs, learning rate, seed or device, and --paragraphs has no
    effect.

    The model is an SGNNSentenceEncoder, with --vectors a DistilledSentenceEncoder: --set NAME=VALUE
    sets any of its parameters, and --parameters lists them; values are checked before FILE is read.

    An existing model in DIR is replaced when training has finished; Ctrl-C keeps it.
    """
    check_text_file(data)
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.sentences import DistilledSentenceEncoder, SGNNSentenceEncoder

    save_model(None, model, dry_run=True)
    encoder: Any
    if vectors is None:
        encoder = SGNNSentenceEncoder()
        if training.learning_rate is None:
            training = replace(training, learning_rate=_LEARNING_RATE)
        training.configure(encoder, _bundles(), n_jobs=n_jobs)
    else:
        training.refuse("--vectors")
        encoder = DistilledSentenceEncoder(n_jobs=n_jobs)
        set_parameters(encoder, training.settings or [], {})
    check_parameters(encoder)
    X, y, n_texts = (
        _read_paragraphs(screen, data, reading, paragraphs)
        if vectors is None
        else _read_pairs(screen, data, reading, vectors)
    )
    started = perf_counter()
    if y is None:
        from sklearn_hashnlp.cli._progress import shown_training

        with shown_training(screen, encoder):
            encoder.fit(X)
    else:
        with screen.bar("Training"):
            encoder.fit(X, y)
    seconds = perf_counter() - started
    save_model(encoder, model)
    report: dict[str, Any] = {"model": str(model)} | n_texts | {"n_parameters": encoder.n_parameters_}
    report |= {"seconds": round(seconds, 3), "history": encoder.history_}
    screen.result(report, [f"Trained in {seconds:.1f} s", f"Saved in {model}"])
    command = '{hashnlp} sentences search --model {path} FILE "what to search for"'
    screen.next_step("search a file, one text per line", command, path=model)


def _read_paragraphs(
    screen: Screen, data: Path, reading: LineOptions, kind: Paragraph
) -> tuple[list[list[str]], None, dict[str, int]]:
    """Return the sentences of each paragraph, and their numbers."""
    from sklearn_hashnlp.datasets import stream_paragraphs, stream_wikipedia
    from sklearn_hashnlp.text import split_sentences

    is_dump = data.name.endswith((".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".xml.zip"))
    with screen.bar(f"Reading {data.name}"), screen.warnings_as_notes():
        paragraphs = stream_wikipedia(data) if is_dump else stream_paragraphs(data, paragraph=kind, **vars(reading))
        texts = [split_sentences(text) for text in paragraphs]
    if not texts:
        raise ValueError(f"{data} has no text to train on.")
    n_sentences = sum(map(len, texts))
    separated = "of a dump" if is_dump else "a line each" if kind == "line" else "separated by blank lines"
    numbers = f"{counted(len(texts), 'paragraph')}, {separated}, with {counted(n_sentences, 'sentence')}"
    screen.note(f"Read {numbers} from {data}")
    if kind == "line" and not is_dump and n_sentences == len(texts) > 1:
        screen.note("Every line is one sentence. If blank lines separate paragraphs, use --paragraphs block.")
    return texts, None, {"n_paragraphs": len(texts), "n_sentences": n_sentences}


def _read_pairs(screen: Screen, data: Path, reading: LineOptions, file: Path) -> tuple[list[str], Any, dict[str, int]]:
    """Return the lines of a file and their vectors, and their number."""
    import numpy as np

    from sklearn_hashnlp.datasets import TextReader

    vectors = read_vectors(file, f"a NumPy array with the vectors of the lines of {data}")
    texts = [row.text for row in TextReader(data, file_format="lines", **vars(reading))]
    shape: tuple[int, ...] = getattr(vectors, "shape", ())
    if len(shape) != 2 or vectors.dtype.kind not in "fiu" or len(texts) != shape[0]:
        raise ValueError(
            f"{file} has an array of shape {shape} and {data} has {counted(len(texts), 'line')}; expected a matrix of "
            "numbers with a row for each line."
        )
    screen.note(f"Read {counted(len(texts), 'text')} from {data}, and vectors of {shape[1]:,} columns")
    return texts, np.asarray(vectors, dtype=np.float32), {"n_texts": len(texts)}
