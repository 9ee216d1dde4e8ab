"""The shapes of labelled text files, each a generator of rows with their line numbers."""

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

_LONGEST_LABEL = 1000
_LARGEST_FIELD = 2**31 - 1  # what fits a C long everywhere

# What fastText splits at, but for NUL, which is a character of a text here. Other blanks of Unicode are none to it.
_FASTTEXT_BLANKS = " \t\n\v\f\r"
_FASTTEXT_BLANK = re.compile(f"[{_FASTTEXT_BLANKS}]+")
_FURTHER_LABEL = re.compile(rf"(?:^|[{_FASTTEXT_BLANKS}\0])({FASTTEXT_PREFIX}[^{_FASTTEXT_BLANKS}\0]*)")


class Row(NamedTuple):
    """One labelled text and the line that it begins on, counted from 1."""

    line: int
    text: str
    label: str


class Columns(NamedTuple):
    """The names asked for by the user; None where the file's own names shall be searched."""

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
                raise ValueError(f"{path}, line {start}: NUL bytes in the first line. Is the file UTF-16, or no text?")
            text_at, label_at = _choose(header, columns, f"{path}, line {start}")
        elif len(fields) != len(header):
            raise ValueError(
                f"{path}, line {start}: expected {len(header)} fields ({', '.join(header)}), found {len(fields)}."
            )
        else:
            yield Row(start, fields[text_at], _checked_label(fields[label_at], path, start))


def numbered_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """Read CSV without a header, as Zhang, Zhao and LeCun wrote it: a class number, then columns of text."""
    n_fields = 0
    for start, fields in _records(lines, path, delimiter=",", quoted=True):
        n_fields = n_fields or len(fields)
        if len(fields) == 1:
            raise ValueError(f"{path}, line {start}: expected a class number and a text, found one field only.")
        if len(fields) != n_fields:
            raise ValueError(
                f"{path}, line {start}: expected {n_fields} fields as in the first row, found {len(fields)}."
            )
        if not is_class_number(fields[0]):
            raise ValueError(
                f"{path}, line {start}: expected a class number first, as in the first row, found {fields[0][:40]!r}."
            )
        yield Row(start, " ".join(fields[1:]), fields[0].strip())


def has_header(lines: Iterable[str], path: Path) -> bool:
    """Return whether the first row of a CSV file names its columns, rather than to begin with a class number."""
    return not any(is_class_number(fields[0]) for _, fields in islice(_records(lines, path, ",", True), 1))


def is_class_number(field: str) -> bool:
    """Return whether a label is a class number of Zhang's: ``"1"``, ``"2"``, ..."""
    return field.strip().isdecimal() and field.isascii()


def json_rows(lines: Iterable[str], path: Path, columns: Columns) -> Iterator[Row]:
    """Read JSON lines: one object a line, with a string text and a label that is a string, a number or a boolean."""
    names: tuple[str, str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
            raise ValueError(
                f"{where}: expected one JSON object on each line, and this is no JSON ({error})."
            ) from error
        if not isinstance(record, dict):
            raise ValueError(f"{where}: expected one JSON object on each line, found {_json_type(record)}.")
        keys = list(record)
        if names is None:
            text_at, label_at = _choose(keys, columns, where)
            names = keys[text_at], keys[label_at]
        for name in names:
            if name not in record:
                raise ValueError(f"{where}: expected the key {name!r}, found {keys}.")
        text, label = record[names[0]], record[names[1]]
        if not isinstance(text, str):
            raise ValueError(f"{where}: expected a string under {names[0]!r}, found {_json_type(text)}.")
        if not isinstance(label, str | int | float):
            raise ValueError(f"{where}: expected one label under {names[1]!r}, found {_json_type(label)}.")
        if "\\ud" in line.lower():
            _refuse_half_characters(text, "text", where)
            _refuse_half_characters(str(label), "label", where)
        label = label if isinstance(label, str) else json.dumps(label)
        yield Row(number, text, _checked_label(label, path, number))


def fasttext_rows(lines: Iterable[str], path: Path) -> Iterator[Row]:
    """Read fastText's training format: ``__label__`` and the label, a blank, and the text."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        first, *rest = _FASTTEXT_BLANK.split(line.lstrip(_FASTTEXT_BLANKS), maxsplit=1)
        text = rest[0].rstrip("\r\n") if rest else ""
        if not first.startswith(FASTTEXT_PREFIX):
            raise ValueError(
                f"{path}, line {number}: expected {FASTTEXT_PREFIX}LABEL at its beginning, found {first[:40]!r}."
            )
        if FASTTEXT_PREFIX in text and (further := _FURTHER_LABEL.search(text)):
            raise ValueError(
                f"{path}, line {number}: expected one label, found {first[:40]!r} and {further[1][:40]!r}. Several "
                f"labels a line are not supported. If the second is a word of the text, write it without "
                f"{FASTTEXT_PREFIX}, or use another format."
            )
        yield Row(number, text, _checked_label(first.removeprefix(FASTTEXT_PREFIX), path, number))


def _records(lines: Iterable[str], path: Path, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV or TSV that are not blank, each with the line that it begins on."""
    # A document of any length is legal. The limit is one for the whole process: whoever put it back at the end of a
    # file would break a file that is being read beside it, so it is raised and stays.
    if csv.field_size_limit() < _LARGEST_FIELD:
        csv.field_size_limit(_LARGEST_FIELD)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    # Strict: a quote that is never closed would otherwise swallow the rest of the file without a word.
    reader = csv.reader(iter(lines), delimiter=delimiter, quoting=quoting, strict=True)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {start}: the row that begins here {_fault(error)}") from error


def _choose(names: Sequence[str], columns: Columns, where: str) -> tuple[int, int]:
    """Find the positions of the text and the label among the names of the columns."""
    text_at = _find(names, columns.text, TEXT_NAMES, "text", where)
    label_at = _find(names, columns.label, LABEL_NAMES, "label", where)
    if len(names) == 2:  # where one of two is known, so is the other
        if text_at is None and label_at is not None:
            text_at = 1 - label_at
        elif label_at is None and text_at is not None:
            label_at = 1 - text_at
    if len(names) == 1:
        raise ValueError(
            f"{where}: expected a text and a label, found only the column {names[0]!r}. Is the format right?"
        )
    for kind, found in (("text", text_at), ("label", label_at)):
        if found is None:
            raise ValueError(
                f"{where}: no column is known to be the {kind}; the columns are {list(names)}. "
                f"Name it with {kind}_column (--{kind}-column). "
                "(The first line of a CSV or TSV file names its columns.)"
            )
    assert text_at is not None  # for the type checker; the loop above has raised
    assert label_at is not None
    if text_at == label_at:
        raise ValueError(f"{where}: the text and the label are the same column, {names[text_at]!r}.")
    return text_at, label_at


def _find(names: Sequence[str], wanted: str | None, usual: Sequence[str], kind: str, where: str) -> int | None:
    """Find one column by the name asked for, or else by the first of the usual names that is there."""
    if wanted is not None:
        positions = [at for at, name in enumerate(names) if name == wanted]
        if not positions:
            raise ValueError(f"{where}: no column {wanted!r} for the {kind}; the columns are {list(names)}.")
    else:
        folded = [name.strip().casefold() for name in names]
        best = next((name for name in usual if name in folded), None)
        positions = [at for at, name in enumerate(folded) if name == best]
    if len(positions) > 1:
        raise ValueError(
            f"{where}: {len(positions)} columns are named {names[positions[0]]!r}; the {kind} could be any."
        )
    return positions[0] if positions else None


def _checked_label(label: str, path: Path, line: int) -> str:
    label = label.strip()
    if not label:
        raise ValueError(f"{path}, line {line}: expected a label, found none.")
    if len(label) > _LONGEST_LABEL:
        raise ValueError(
            f"{path}, line {line}: expected a label, found {len(label)} characters that begin with {label[:40]!r}. "
            "Are text_column and label_column the wrong way round?"
        )
    if "\0" in label:  # numpy's strings end at trailing NULs: "a" and "a\0" would become one label
        raise ValueError(f"{path}, line {line}: expected a label, found {label[:40]!r}, which has a NUL character.")
    return label


def _fault(error: csv.Error) -> str:
    """Say what is wrong with a row that the csv module refused, and what to do."""
    if "new-line character" in str(error):
        return (
            "has a carriage return (\\r) that no line feed follows and no quotes enclose; lines end in \\n or \\r\\n. "
            "Convert the file first, for example with: tr '\\r' '\\n' < OLD > NEW"
        )
    if "field limit" in str(error):
        return f"cannot be read ({error}). Another part of the program has lowered csv.field_size_limit meanwhile."
    return (
        f'breaks the rules of quotes ({error}). A quote inside a quoted field is written twice (""). If quotes are '
        "plain characters in this file, pass quoted=False (--no-quotes)."
    )


def _refuse_half_characters(text: str, kind: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise ValueError(
            f"{where}: character {error.start + 1} of the {kind} is {half}, half of a surrogate pair."
        ) from error


def _json_type(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
