"""Parsers of labeled text: CSV, TSV, JSON lines and fastText, each a generator of rows with line numbers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

LABEL_NAMES = ("label", "labels", "class", "category", "target", "intent", "sentiment", "tag", "y")
TEXT_NAMES = (
    "text",
    "texts",
    "sentence",
    "document",
    "content",
    "review",
    "message",
    "utterance",
    "question",
    "body",
    "x",
)
FASTTEXT_PREFIX = "__label__"

_MAX_LABEL_LENGTH = 1000
_MAX_FIELD_SIZE = 2**31 - 1  # fits a C long on every platform

# The whitespace of fastText: ASCII alone, not Unicode's. It splits at NUL as well, which is a character of a text here.
_FASTTEXT_SPACES = " \t\n\v\f\r"
_FASTTEXT_SEPARATOR = re.compile(f"[{_FASTTEXT_SPACES}]+")
_SECOND_LABEL = re.compile(rf"(?:^|[{_FASTTEXT_SPACES}\0])({FASTTEXT_PREFIX}[^{_FASTTEXT_SPACES}\0]*)")


class Row(NamedTuple):
    """One labeled text, and the number of its first line, from 1."""

    line: int
    text: str
    label: str


class Columns(NamedTuple):
    """Column names given by the user; None to search for the usual names."""

    text: str | None = None
    label: str | None = None


def delimited_rows(
    lines: Iterable[str], path: Path, columns: Columns, *, delimiter: str, quoted: bool
) -> Iterator[Row]:
    """Read CSV or TSV whose first line names the columns."""
    header: list[str] | None = None
    for start, fields in _records(lines, path, delimiter=delimiter, quoted=quoted):
        if header is None:
            header = fields
            if any("\0" in name for name in header):
                raise ValueError(f"{path}, line {start}: NUL bytes in the first line. Is the file UTF-16, or binary?")
            text_index, label_index = _find_columns(header, columns, f"{path}, line {start}")
        elif len(fields) != len(header):
            raise ValueError(
                f"{path}, line {start}: expected {len(header)} fields ({', '.join(header)}), got {len(fields)}."
            )
        else:
            yield Row(start, fields[text_index], _check_label(fields[label_index], path, start))


def numbered_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """Read CSV without a header, as Zhang, Zhao and LeCun wrote it: a class number, then columns of text."""
    n_fields = 0
    for start, fields in _records(lines, path, delimiter=",", quoted=True):
        n_fields = n_fields or len(fields)
        if len(fields) == 1:
            raise ValueError(f"{path}, line {start}: expected a class number and a text, got one field.")
        if len(fields) != n_fields:
            raise ValueError(
                f"{path}, line {start}: expected {n_fields} fields as in the first row, got {len(fields)}."
            )
        if not is_class_number(fields[0]):
            raise ValueError(
                f"{path}, line {start}: expected a class number first, as in the first row, got {fields[0][:40]!r}."
            )
        yield Row(start, " ".join(fields[1:]), fields[0].strip())


def has_header(lines: Iterable[str], path: Path) -> bool:
    """Return whether the first row of a CSV file is a header, not a row that begins with a class number."""
    return not any(is_class_number(fields[0]) for _, fields in islice(_records(lines, path, ",", True), 1))


def is_class_number(field: str) -> bool:
    """Return whether a label is a class number: ``"1"``, ``"2"``, ..."""
    return field.strip().isdecimal() and field.isascii()


def json_rows(lines: Iterable[str], path: Path, columns: Columns) -> Iterator[Row]:
    """Read JSON lines: one object a line, with a string text and a label that is a string, a number or a boolean."""
    names: tuple[str, str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        location = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
            raise ValueError(
                f"{location}: expected one JSON object on each line, got invalid JSON ({error})."
            ) from error
        if not isinstance(record, dict):
            raise ValueError(f"{location}: expected one JSON object on each line, got {_json_type(record)}.")
        keys = list(record)
        if names is None:
            text_index, label_index = _find_columns(keys, columns, location)
            names = keys[text_index], keys[label_index]
        for name in names:
            if name not in record:
                raise ValueError(f"{location}: expected the key {name!r}, got {keys}.")
        text, label = record[names[0]], record[names[1]]
        if not isinstance(text, str):
            raise ValueError(f"{location}: expected a string under {names[0]!r}, got {_json_type(text)}.")
        if not isinstance(label, str | int | float):
            raise ValueError(f"{location}: expected one label under {names[1]!r}, got {_json_type(label)}.")
        if "\\ud" in line.lower():
            _check_surrogates(text, "text", location)
            _check_surrogates(str(label), "label", location)
        label = label if isinstance(label, str) else json.dumps(label)
        yield Row(number, text, _check_label(label, path, number))


def fasttext_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """Read fastText's training format: ``__label__`` and the label, a space, and the text."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        first, *rest = _FASTTEXT_SEPARATOR.split(line.lstrip(_FASTTEXT_SPACES), maxsplit=1)
        text = rest[0].rstrip("\r\n") if rest else ""
        if not first.startswith(FASTTEXT_PREFIX):
            raise ValueError(
                f"{path}, line {number}: expected {FASTTEXT_PREFIX}LABEL at its beginning, got {first[:40]!r}."
            )
        if FASTTEXT_PREFIX in text and (second := _SECOND_LABEL.search(text)):
            raise ValueError(
                f"{path}, line {number}: expected one label, got {first[:40]!r} and {second[1][:40]!r}. Several "
                f"labels per text are not supported. If the second is a word of the text, write it without "
                f"{FASTTEXT_PREFIX}, or use another format."
            )
        yield Row(number, text, _check_label(first.removeprefix(FASTTEXT_PREFIX), path, number))


def _records(lines: Iterable[str], path: Path, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV or TSV that are not blank, each with the number of its first line."""
    # A text may have any length. The limit is global to the process: to restore it at the end of a file would break the
    # reading of another file at the same time, so it stays raised.
    if csv.field_size_limit() < _MAX_FIELD_SIZE:
        csv.field_size_limit(_MAX_FIELD_SIZE)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    # Strict: an unclosed quote would otherwise swallow the rest of the file silently.
    reader = csv.reader(iter(lines), delimiter=delimiter, quoting=quoting, strict=True)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {start}: the row that begins here {_describe_csv_error(error)}") from error


def _find_columns(names: Sequence[str], columns: Columns, location: str) -> tuple[int, int]:
    """Return the indices of the text column and the label column."""
    text_index = _find_column(names, columns.text, TEXT_NAMES, "text", location)
    label_index = _find_column(names, columns.label, LABEL_NAMES, "label", location)
    if len(names) == 2:  # if one of two is known, so is the other
        if text_index is None and label_index is not None:
            text_index = 1 - label_index
        elif label_index is None and text_index is not None:
            label_index = 1 - text_index
    if len(names) == 1:
        raise ValueError(
            f"{location}: expected a text and a label column, got only the column {names[0]!r}. Is the format right?"
        )
    for kind, index in (("text", text_index), ("label", label_index)):
        if index is None:
            raise ValueError(
                f"{location}: no column has a usual name of a {kind} column; the columns are {list(names)}. "
                f"Name it with {kind}_column (--{kind}-column). "
                "(The first line of a CSV or TSV file is its header.)"
            )
    assert text_index is not None  # the loop above has raised otherwise
    assert label_index is not None
    if text_index == label_index:
        raise ValueError(f"{location}: the text and the label are the same column, {names[text_index]!r}.")
    return text_index, label_index


def _find_column(
    names: Sequence[str], wanted: str | None, usual: Sequence[str], kind: str, location: str
) -> int | None:
    """Return the index of the column with the wanted name, or else with the first usual name, or None."""
    if wanted is not None:
        indices = [index for index, name in enumerate(names) if name == wanted]
        if not indices:
            raise ValueError(f"{location}: no column {wanted!r} for the {kind}; the columns are {list(names)}.")
    else:
        folded = [name.strip().casefold() for name in names]
        best = next((name for name in usual if name in folded), None)
        indices = [index for index, name in enumerate(folded) if name == best]
    if len(indices) > 1:
        raise ValueError(
            f"{location}: {len(indices)} columns are named {names[indices[0]]!r}; the {kind} column must be unique."
        )
    return indices[0] if indices else None


def _check_label(label: str, path: Path, line: int) -> str:
    label = label.strip()
    if not label:
        raise ValueError(f"{path}, line {line}: expected a label, got an empty one.")
    if len(label) > _MAX_LABEL_LENGTH:
        raise ValueError(
            f"{path}, line {line}: expected a label, got {len(label)} characters that begin with {label[:40]!r}. "
            "Are text_column and label_column swapped?"
        )
    if "\0" in label:  # numpy strips trailing NULs: "a" and "a\0" would become one label
        raise ValueError(f"{path}, line {line}: expected a label, got {label[:40]!r}, which has a NUL character.")
    return label


def _describe_csv_error(error: csv.Error) -> str:
    """Describe an error of the csv module, and what to do."""
    if "new-line character" in str(error):
        return (
            "has a carriage return (\\r) outside quotes without a line feed after it; lines end in \\n or \\r\\n. "
            "Convert the file first, for example with: tr '\\r' '\\n' < OLD > NEW"
        )
    if "field limit" in str(error):
        return f"cannot be read ({error}). Another part of the program has lowered csv.field_size_limit."
    return (
        f'has invalid quotes ({error}). A quote inside a quoted field is written twice (""). If quotes are ordinary '
        "characters in this file, pass quoted=False (--no-quotes)."
    )


def _check_surrogates(text: str, kind: str, location: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(text[error.start]):04x}"
        raise ValueError(
            f"{location}: character {error.start + 1} of the {kind} is {surrogate}, half of a surrogate pair."
        ) from error


def _json_type(value: object) -> str:
    types = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return types.get(type(value), "a number")
