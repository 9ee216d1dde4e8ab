"""``hashnlp predict``: predict the labels of texts, one per line or in a column of a table."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._pipelines import last_step, load_classifier, predict_topk
from sklearn_hashnlp.cli._reading import BATCH_SIZE, TABLES, find_format, is_stdin, open_texts
from sklearn_hashnlp.cli._screen import Screen, counted, one_field

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets import TextReader

_MULTILABEL_THRESHOLD = 0.5
# Number of texts from which on the whole model is loaded: it is twenty times as fast, and loading
# it takes the time of predicting about this number of texts.
_MANY_TEXTS = 20_000

_LABEL_COLUMN, _PROBABILITY_COLUMN = "predicted_label", "probability"
_OPENERS: Final[dict[str, Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_TABLE_SUFFIXES: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}

WriteRow: TypeAlias = Callable[[Any, list[tuple[Any, float]]], None]
"""Write the labels of a text with their probabilities, the most probable first."""


@reporting_errors
def predict(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="File to write. Default: stdout."
    ),
    top: int | None = typer.Option(
        None,
        "--top",
        "-k",
        metavar="K",
        min=1,
        help="Print the K most probable labels. Default: 1, or all that reach --threshold.",
    ),
    threshold: float | None = typer.Option(
        None,
        metavar="P",
        min=0.0,
        max=1.0,
        help="Print only labels with at least this probability.",
    ),
    proba: bool = typer.Option(
        False, "--proba", "-p", help="Print the probability after each label."
    ),
) -> None:
    """Predict the labels of new texts: lines, or a column of a table.

      echo "Win a prize now!" | hashnlp predict --model spam
      hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
      hashnlp predict --model spam mails.csv --text-column body --output out.csv
      hashnlp predict --model spam mails.jsonl --output out.jsonl
      hashnlp predict --model spam new.txt --threshold 0.9
      hashnlp predict --model spam new.txt --json | jq .label

    FILE is read as by train: .csv, .tsv and .jsonl are tables; their rows are kept, with the
    columns predicted_label and probability added (multiple labels are separated by |). Any other
    file, and stdin, has one text per line, and an empty line is an empty text; --format overrides
    this. Files may be compressed as .gz, .bz2, .xz, .zip.

    Each line gets one line of output: its most probable label. Labels and probabilities are
    separated by tabs, the most probable first. A model with multiple labels per text prints all
    labels of probability 0.5 or more.

    --top 3 prints the three most probable labels. --threshold 0.9 prints all labels with at least
    this probability, or an empty line if there are none. Both together print at most three labels,
    each with at least this probability.

    With --json each line is an object with "label" and "probability" (null if no label reaches the
    threshold), and with --top or --threshold also "top", a list of such objects; for a table it has
    the columns of the row, too.
    """
    file_format = find_format(file, reading)
    if output is not None:
        written = "jsonl" if screen.as_json else file_format
        _check_suffix(output, written, by_tabs=reading.delimiter == "\t")
    classifier = load_classifier(model, predict_only=True)
    if threshold is None and top is None and last_step(classifier).multilabel_:
        threshold = _MULTILABEL_THRESHOLD
    k = top or (1 if threshold is None else len(classifier.classes_))
    lists = top is not None or threshold is not None
    n_texts, shows_bar = 0, True if output is not None else None
    write: WriteRow | None = None
    with (
        open_texts(screen, file, reading, bar=shows_bar) as texts,
        open_output(screen, output, file) as stream,
    ):
        if screen.as_json or file_format == "jsonl":
            write = _json_writer(texts, stream, lists=lists)
        elif file_format not in TABLES:
            write = _line_writer(stream, proba=proba)
        for batch in texts.batches(BATCH_SIZE):
            n_texts += len(batch)
            if n_texts > _MANY_TEXTS and not hasattr(classifier, "get_params"):
                classifier = load_classifier(model)
            predictions = predict_topk(
                classifier, [text.text for text in batch], k, threshold or 0.0
            )
            write = write or _table_writer(texts, stream, reading)
            for text, prediction in zip(batch, predictions, strict=True):
                write(text, prediction)
            stream.flush()  # a reader of a pipe waits for it
        if write is None and texts.header:
            _table_writer(texts, stream, reading)
    note_read(screen, file, texts, n_texts)


def note_read(screen: Screen, file: Path | None, texts: TextReader, n_texts: int) -> None:
    """Note the number of texts of a table, and their column."""
    if texts.file_format in TABLES:
        # None: there was no row
        column = "" if texts.text_column is None else f"column {texts.text_column} of "
        screen.note(
            f"Read {counted(n_texts, 'text')} from {column}{'stdin' if is_stdin(file) else file}"
        )


def _check_suffix(output: Path, written: str, *, by_tabs: bool) -> None:
    """Refuse the name of a table in another format than the one that is written."""
    compressed = output.suffix.lower() in _OPENERS
    suffix = Path(output.stem if compressed else output.name).suffix.lower()
    named = _TABLE_SUFFIXES.get(suffix, written)
    # the labels of a line are separated by tabs
    if named == written or (named == "tsv" and (written not in TABLES or by_tabs)):
        return
    what, name = {
        "csv": ("a CSV table", ".csv"),
        "tsv": ("a TSV table", ".tsv"),
        "jsonl": ("JSON lines", ".jsonl"),
    }.get(written, ("a line for each text", ".txt"))
    remedy = ", or use --json" if named == "jsonl" else ""
    raise typer.BadParameter(
        f"--output {output}: the output is {what}. Choose a name that ends with {name}{remedy}."
    )


@contextmanager
def open_output(screen: Screen, path: Path | None, source: Path | None) -> Iterator[IO[str]]:
    """Open a file, written as ``NAME.part`` and renamed when it is complete, or stdout."""
    if path is None:
        yield sys.stdout
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}. Make it first.")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise ValueError(f"{path} is the file of the texts; choose another --output.")
    part = path.with_name(f"{path.name}.part")
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        # An escaped half of a surrogate pair is what JSON has for it.
        with opener(part, "wt", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            yield cast(IO[str], stream)
    except BaseException:
        if part.exists():
            screen.note(f"What was predicted before is in {part}")
        raise
    part.replace(path)


def _line_writer(stream: IO[str], *, proba: bool) -> WriteRow:
    """Return a function that writes labels, separated by tabs."""

    def write(_text: Any, prediction: list[tuple[Any, float]]) -> None:
        labels = [
            one_field(label) + (f"\t{share:.4f}" if proba else "") for label, share in prediction
        ]
        stream.write("\t".join(labels) + "\n")

    return write


def _table_writer(texts: TextReader, stream: IO[str], options: TextOptions) -> WriteRow:
    """Write the header of a table; return a function that writes rows with two more columns."""
    delimiter = texts.delimiter or ("\t" if texts.file_format == "tsv" else ",")
    dialect: dict[str, Any] = {
        "delimiter": delimiter,
        "lineterminator": "\n",
        "escapechar": options.escapechar,
    }
    if not options.quoted:
        dialect |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
    table = csv.writer(stream, **dialect)
    _check_free(texts.header, "The table")
    table.writerow([*texts.header, _LABEL_COLUMN, _PROBABILITY_COLUMN])

    def write(text: Any, prediction: list[tuple[Any, float]]) -> None:
        labels = "|".join(str(label) for label, _ in prediction)
        if not options.quoted:
            labels = one_field(labels).replace(delimiter, " ")
        table.writerow(
            [*text.record, labels, "|".join(f"{probability:.4f}" for _, probability in prediction)]
        )

    return write


def _json_writer(texts: TextReader, stream: IO[str], *, lists: bool) -> WriteRow:
    """Return a function that writes label and probability as JSON, with the columns of a row."""

    def write(text: Any, prediction: list[tuple[Any, float]]) -> None:
        entries = [
            {"label": label, "probability": probability} for label, probability in prediction
        ]
        first = entries[0] if entries else {"label": None, "probability": None}
        top: dict[str, Any] = {"top": entries} if lists else {}
        if texts.file_format in TABLES:
            row = dict(
                text.record
                if isinstance(text.record, dict)
                else zip(texts.header, text.record, strict=True)
            )
            _check_free([*row], "The row", *top)
            first = row | {_LABEL_COLUMN: first["label"], _PROBABILITY_COLUMN: first["probability"]}
        stream.write(json.dumps(first | top, ensure_ascii=texts.file_format not in TABLES) + "\n")

    return write


def _check_free(names: list[str], what: str, *more: str) -> None:
    for name in (_LABEL_COLUMN, _PROBABILITY_COLUMN, *more):
        if name in names:
            raise ValueError(
                f"{what} has a column {name!r} already, the name of a column to be added. Rename "
                "it first."
            )
