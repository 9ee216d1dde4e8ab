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
SEPARATOR: Final = "|"  # between several labels in one field

_OPENERS: Final[dict[str, Callable[..., Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_EXTENSIONS: Final = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}

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
    """Return the format of the output: that of the file's name, or else of the input."""
    kind = "lines" if input_format == "fasttext" else input_format
    if path is not None:
        name = path.stem if path.suffix.lower() in _OPENERS else path.name
        kind = _EXTENSIONS.get(Path(name).suffix.lower(), kind)
    if as_json and kind != "lines":
        kind = "jsonl"
    if input_format == "jsonl" and kind != "jsonl":
        raise ValueError(f"{path}: the rows are JSON objects and are written as JSON lines; expected a name in .jsonl.")
    return kind


class Writer:
    """Write the texts of a batch with their predictions."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def begin(self, names: list[str] | None) -> None:
        """Write what stands above the rows; ``names`` are those of the columns, None for lines and JSON objects."""

    def write(self, texts: list[Text], predictions: list[Prediction]) -> None:
        """Write a batch, and flush it: a reader of a pipe waits for it."""
        self.stream.writelines(map(self._line, texts, predictions))
        self.stream.flush()

    def _line(self, text: Text, prediction: Prediction) -> str:
        raise NotImplementedError


def make_writer(
    stream: IO[str], written: str, read: str, options: TextOptions, as_json: bool, *, lists: bool, proba: bool
) -> Writer:
    """Return the writer of a format; ``read`` is the format of the texts."""
    if written == "jsonl" or as_json:
        return JsonWriter(stream, lists=lists, with_rows=written == "jsonl")
    if written == "lines":
        return LabelWriter(stream, proba=proba)
    as_read = written == read  # another format has its own delimiter and quotes
    delimiter = options.delimiter if options.delimiter and as_read else {"csv": ",", "tsv": "\t"}[written]
    return TableWriter(stream, delimiter=delimiter, quoted=options.quoted or not as_read)


class LabelWriter(Writer):
    """One line of labels, separated by tabs, for each text."""

    def __init__(self, stream: IO[str], *, proba: bool) -> None:
        super().__init__(stream)
        self._proba = proba

    def _line(self, text: Text, prediction: Prediction) -> str:
        if self._proba:
            return "\t".join(f"{_escape(label)}\t{probability:.4f}" for label, probability in prediction) + "\n"
        return "\t".join(_escape(label) for label, _ in prediction) + "\n"


class JsonWriter(Writer):
    """One JSON object for each text: what its row holds, the label and its probability, with ``lists`` all of them."""

    def __init__(self, stream: IO[str], *, lists: bool, with_rows: bool) -> None:
        super().__init__(stream)
        self._lists = lists
        self._with_rows = with_rows
        self._names: list[str] | None = None

    def begin(self, names: list[str] | None) -> None:
        self._names = names

    def _line(self, text: Text, prediction: Prediction) -> str:
        entries = [{"label": label, "probability": probability} for label, probability in prediction]
        first = entries[0] if entries else {"label": None, "probability": None}
        top: dict[str, Any] = {"top": entries} if self._lists else {}
        if not self._with_rows:
            return json.dumps(first | top) + "\n"
        row = _row_of(text, self._names)
        _check_free([*row], "The row", *top)
        row |= {LABEL_COLUMN: first["label"], PROBABILITY_COLUMN: first["probability"]} | top
        line = json.dumps(row, ensure_ascii=False)
        return (line if _encodable(line) else json.dumps(row)) + "\n"


class TableWriter(Writer):
    """The fields of each row, and two more: the label and its probability, or several separated by ``|``."""

    def __init__(self, stream: IO[str], *, delimiter: str, quoted: bool) -> None:
        super().__init__(stream)
        self._delimiter, self._quoted = delimiter, quoted
        self._csv = csv.writer(stream, delimiter=delimiter, lineterminator="\n")

    def begin(self, names: list[str] | None) -> None:
        names = names or ["text"]
        _check_free(names, "The table")
        self._write_row([*names, LABEL_COLUMN, PROBABILITY_COLUMN])

    def write(self, texts: list[Text], predictions: list[Prediction]) -> None:
        for text, prediction in zip(texts, predictions, strict=True):
            labels = SEPARATOR.join(str(label) for label, _ in prediction)
            probabilities = SEPARATOR.join(f"{probability:.4f}" for _, probability in prediction)
            self._write_row([*(text.record or [text.text]), labels, probabilities])
        self.stream.flush()

    def _write_row(self, fields: list[str]) -> None:
        if self._quoted:
            self._csv.writerow(fields)
        else:  # fields as they were read, whose quotes are characters
            labels = [_escape(field).replace(self._delimiter, " ") for field in fields[-2:]]
            self.stream.write(self._delimiter.join([*fields[:-2], *labels]) + "\n")


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
