"""``hashnlp sentences train``: train a sentence encoder on a text file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Json, Quiet, Seed, check_device
from sklearn_hashnlp.cli._screen import Screen, add_bar, command_name
from sklearn_hashnlp.cli.reading._lines import check_text_file
from sklearn_hashnlp.cli.sentences._options import EncoderFolder, ParagraphKind, Threads

if TYPE_CHECKING:
    from sklearn_hashnlp import SGNNSentenceEncoder

HELP = """\
Train a sentence encoder on the paragraphs of a text file, and save it.

\b
  hashnlp sentences train articles.txt --model encoder
  hashnlp sentences train book.txt --model encoder --paragraphs block
  hashnlp sentences train articles.txt.gz --model encoder --epochs 2 --seed 1
  hashnlp sentences train texts.txt --model encoder --vectors vectors.npy

Train it on the texts that you want to search, or on text like them; some thousand paragraphs are enough to begin \
with. With --paragraphs line every line is a paragraph; with --paragraphs block a paragraph ends at a blank line. \
Sentences of the same paragraph are learned to be similar, so a paragraph should have several sentences.

With --vectors the encoder learns to reproduce vectors that another model, such as a Transformer, has computed for the \
lines of FILE: a NumPy array of one row per line, as numpy.save writes it. --paragraphs and --epochs then have no \
effect.

An existing model in DIR is replaced when training has finished; Ctrl-C keeps it.
"""


@reporting_errors
def train(
    data: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Paragraphs, UTF-8; also .gz, .bz2, .xz, .zip.", show_default=False),
    ],
    model: EncoderFolder,
    paragraphs: Annotated[
        ParagraphKind,
        typer.Option(help="line: every line is a paragraph. block: paragraphs are separated by blank lines."),
    ] = ParagraphKind.line,
    epochs: Annotated[int, typer.Option(min=0, help="Number of epochs after word pretraining.")] = 1,
    layers: Annotated[
        int, typer.Option(min=0, help="Number of Transformer layers; with 0, training is many times as fast.")
    ] = 0,
    vectors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Vectors of the lines to learn, a .npy file.", show_default=False),
    ] = None,
    threads: Threads = 1,
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a sentence encoder; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_text_file(data)
    check_device(device)
    if vectors is not None:
        _train_on_vectors(screen, data, vectors, model, threads, as_json=as_json)
        return
    from sklearn_hashnlp import SGNNSentenceEncoder
    from sklearn_hashnlp.datasets import stream_paragraphs
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable
    from sklearn_hashnlp.sentences import Network
    from sklearn_hashnlp.text import split_sentences

    check_replaceable(model)
    with screen.progress() as progress:
        progress.add_task(f"Reading {data.name}", total=None)
        texts = [split_sentences(text) for text in stream_paragraphs(data, paragraph=paragraphs.value)]
    if not texts:
        raise ValueError(f"{data} has no text to train on.")
    n_sentences = sum(map(len, texts))
    kind = "a line each" if paragraphs is ParagraphKind.line else "separated by blank lines"
    screen.note(f"Read {_count(len(texts), 'paragraph')}, {kind}, with {_count(n_sentences, 'sentence')} from {data}")
    if paragraphs is ParagraphKind.line and n_sentences == len(texts) > 1:
        screen.note("Every line is one sentence. If blank lines separate paragraphs, use --paragraphs block.")
    encoder = SGNNSentenceEncoder(
        max_epochs=epochs,
        network=Network(n_layers=layers),
        learning_rate=5e-4 if layers else 1e-3,
        n_jobs=threads,
        device=device.value,
        random_state=seed,
    )
    started = clock()
    _fit(screen, encoder, texts)
    seconds = clock() - started
    save_model(encoder, model)
    if as_json:
        screen.show_json(
            {
                "model": str(model),
                "n_paragraphs": len(texts),
                "n_sentences": n_sentences,
                "n_parameters": encoder.n_parameters_,
                "seconds": round(seconds, 3),
                "history": encoder.history_,
            }
        )
        return
    _show_result(screen, seconds, model)


def _train_on_vectors(screen: Screen, data: Path, file: Path, model: Path, threads: int, *, as_json: bool) -> None:
    """Train an encoder on lines and their vectors, and save it."""
    if not file.is_file():
        raise FileNotFoundError(f"{file} is no file; expected a NumPy array with the vectors of the lines of {data}.")
    import numpy as np

    from sklearn_hashnlp.datasets._lines import read_lines
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable
    from sklearn_hashnlp.sentences import DistilledSentenceEncoder

    check_replaceable(model)
    try:
        vectors = np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{file} is not a NumPy array; expected one that numpy.save has written.") from error
    texts = [line.rstrip("\r\n") for line in read_lines(data)]
    shape: tuple[int, ...] = getattr(vectors, "shape", ())
    if len(shape) != 2 or vectors.dtype.kind not in "fiu" or len(texts) != shape[0]:
        raise ValueError(
            f"{file} has an array of shape {shape} and {data} has {_count(len(texts), 'line')}; expected a matrix of "
            "numbers with a row for each line."
        )
    screen.note(f"Read {_count(len(texts), 'text')} from {data}, and vectors of {shape[1]:,} columns")
    encoder = DistilledSentenceEncoder(n_jobs=threads)
    started = clock()
    with screen.warnings_as_notes(), screen.progress() as progress:
        progress.add_task("Training", total=None)
        encoder.fit(texts, np.asarray(vectors, dtype=np.float32))
    seconds = clock() - started
    save_model(encoder, model)
    if as_json:
        result = {"model": str(model), "n_texts": len(texts), "n_parameters": encoder.n_parameters_}
        screen.show_json(result | {"seconds": round(seconds, 3), "history": encoder.history_})
        return
    _show_result(screen, seconds, model)


def _show_result(screen: Screen, seconds: float, model: Path) -> None:
    screen.show(f"Trained in {seconds:.1f} s")
    screen.show(f"Saved in {model}")
    screen.note("\nNext, search a file, one text per line:")
    screen.note(
        f'  {command_name()} sentences search --model {shlex.quote(str(model))} FILE "what to search for"', style="bold"
    )


def _fit(screen: Screen, encoder: SGNNSentenceEncoder, texts: list[list[str]]) -> None:
    """Fit with a progress bar, which moves from word pretraining on."""
    from sklearn_hashnlp.training._callbacks import EpochProgress

    with screen.warnings_as_notes(), screen.progress() as progress:
        update = add_bar(progress, "Training")
        encoder.set_params(callbacks=[EpochProgress(screen.note, update)])
        try:
            encoder.fit(texts)
        finally:
            encoder.set_params(callbacks=None)  # not saved with the model


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
