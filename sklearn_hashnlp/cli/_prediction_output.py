"""Output of ``hashnlp predict``: lines of labels, or the rows of a table with columns added."""

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
from typing import IO, Any, Final, cast

from sklearn_hashnlp.cli._options import TextOptions
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.reading._text_formats import Text

LABEL_COLUMN: Final = "predicted_label"
PROBABILITY_COLUMN: Final = "probability"
SEPARATOR: Final = "|"  # between labels in one field

_OPENERS: Final[dict[str, Callable[..., Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_EXTENSIONS: Final = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}

_DELIMITED: Final = ("csv", "tsv")

Prediction = list[tuple[Any, float]]
"""Labels and their probabilities, the most probable first."""


@contextmanager
def open_output(screen: Screen, path: Path | None, source: Path | None) -> Iterator[IO[str]]:
    """Open a file, written as ``NAME.part`` and renamed when it is complete, or stdout."""
    if path is None:
        yield sys.stdout
        return
    if path.suffix.lower() == ".zip":
        raise ValueError(f"{path}: a zip archive cannot be written; choose .gz, .bz2 or .xz.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}. Make it first.")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise ValueError(f"{path} is the file of the texts; choose another --output.")
    part = path.with_name(f"{path.name}.part")
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(part, "wt", encoding="utf-8", newline="") as stream:
            yield cast(IO[str], stream)
    except BaseException:
        if part.exists():
            screen.note(f"What was predicted before is in {part}")
        raise
    part.replace(path)


def output_format(path: Path | None, input_format: str, *, as_json: bool) -> str:
    """Return the format of the output, by the name of the file or else as the input."""
    kind = "lines" if input_format == "fasttext" else input_format
    if path is not None:
        name = path.stem if path.suffix.lower() in _OPENERS else path.name
        kind = _EXTENSIONS.get(Path(name).suffix.lower(), kind)
    if as_json and kind != "lines":
        kind = "jsonl"
    if input_format == "jsonl" and kind != "jsonl":
        raise ValueError(f"{path}: the rows are JSON objects and are written as JSON lines; expected a name in .jsonl.")
    return kind


class PredictionWriter:
    """Write texts with their predictions: lines of labels, rows of a table, or JSON objects."""

    def __init__(
        self, stream: IO[str], written: str, read: str, options: TextOptions, *, as_json: bool, lists: bool, proba: bool
    ) -> None:
        self._stream, self._lists, self._proba = stream, lists, proba
        self._format = "json" if as_json and written == "lines" else written
        as_read = written == read  # another format has its own delimiter and quotes
        self._delimiter = (options.delimiter if as_read else None) or ("\t" if written == "tsv" else ",")
        self._quoted = options.quoted or not as_read
        self._csv = csv.writer(_Echo(), delimiter=self._delimiter, lineterminator="\n")
        self._names: list[str] | None = None

    def begin(self, names: list[str] | None) -> None:
        """Write the header of a table; ``names`` are the columns that were read, None for lines and JSON objects."""
        self._names = names
        if self._format in _DELIMITED:
            names = names or ["text"]
            _check_free(names, "The table")
            self._stream.write(self._row([*names, LABEL_COLUMN, PROBABILITY_COLUMN]))

    def write(self, texts: list[Text], predictions: list[Prediction]) -> None:
        """Write a batch, and flush it: a reader of a pipe waits for it."""
        self._stream.writelines(map(self._line, texts, predictions))
        self._stream.flush()

    def _line(self, text: Text, prediction: Prediction) -> str:
        if self._format == "lines":
            fields = [
                f"{_escape(label)}\t{share:.4f}" if self._proba else _escape(label) for label, share in prediction
            ]
            return "\t".join(fields) + "\n"
        if self._format in _DELIMITED:
            labels = SEPARATOR.join(str(label) for label, _ in prediction)
            probabilities = SEPARATOR.join(f"{probability:.4f}" for _, probability in prediction)
            return self._row([*(text.record or [text.text]), labels, probabilities])
        entries = [{"label": label, "probability": probability} for label, probability in prediction]
        first = entries[0] if entries else {"label": None, "probability": None}
        top: dict[str, Any] = {"top": entries} if self._lists else {}
        if self._format == "json":
            return json.dumps(first | top) + "\n"
        row = _row_of(text, self._names)
        _check_free([*row], "The row", *top)
        row |= {LABEL_COLUMN: first["label"], PROBABILITY_COLUMN: first["probability"]} | top
        line = json.dumps(row, ensure_ascii=False)
        return (line if _encodable(line) else json.dumps(row)) + "\n"

    def _row(self, fields: list[str]) -> str:
        if self._quoted:
            return str(self._csv.writerow(fields))
        # Fields are as they were read: quotes in them are characters.
        added = [_escape(field).replace(self._delimiter, " ") for field in fields[-2:]]
        return self._delimiter.join([*fields[:-2], *added]) + "\n"


class _Echo:
    """A file with a ``write`` that returns the text, as then does ``writerow``."""

    def write(self, text: str) -> str:
        return text


def _row_of(text: Text, names: list[str] | None) -> dict[str, Any]:
    if isinstance(text.record, dict):
        return dict(text.record)
    return {"text": text.text} if names is None else dict(zip(names, text.record, strict=True))


def _check_free(names: list[str], what: str, *more: str) -> None:
    for name in (LABEL_COLUMN, PROBABILITY_COLUMN, *more):
        if name in names:
            raise ValueError(
                f"{what} has a column {name!r} already, the name of a column to be added. Rename it first."
            )


def _encodable(line: str) -> bool:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, in a key that is not the text
        return False
    return True


def _escape(label: object) -> str:
    """Replace tabs and line breaks, which separate the fields of the output."""
    return str(label).replace("\t", " ").replace("\n", " ").replace("\r", " ")
