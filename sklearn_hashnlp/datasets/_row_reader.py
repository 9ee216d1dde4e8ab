"""Parsers for CSV, TSV, JSON lines and fastText files: rows with line numbers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from sklearn_hashnlp.datasets._row_formats import (
    FASTTEXT_SPACES,
    LABEL_NAMES,
    TEXT_NAMES,
    USUAL_COLUMNS,
    Columns,
    RowFormat,
    find_columns,
    folded,
)

_MAX_LABEL_LENGTH = 1000
_MAX_FIELD_SIZE = 2**31 - 1  # the limit of a C long on every platform

_FASTTEXT_SEPARATOR = re.compile(f"[{FASTTEXT_SPACES}]+")

_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)  # of Excel, before the header
_LONE_RETURN = re.compile(r"\r(?!\n?\Z)")
# Stands for a carriage return, which ends a row of the csv module; no decoded text has it.
_RETURN = "\ud80d"
# Answers of an annotator who rejects the label of a row, in the JSON lines of Prodigy
_ANSWERS_NO = ("reject", "ignore")

_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF_DECODED = re.compile("[\udc80-\udcff]")  # bytes decoded by the error handler surrogateescape


class Row(NamedTuple):
    """A text with its labels, and the number of its first line, starting at 1."""

    line: int
    text: str
    labels: tuple[str, ...]
    # Set if only texts are read: all fields of CSV and TSV as a list, or the JSON object
    record: Any = None


class RowReader:
    """Iterate once over the rows of a file; errors contain the source and the line."""

    def __init__(
        self,
        lines: Iterable[str],
        source: str,
        row_format: RowFormat,
        *,
        labelled: bool = True,
        multilabel: bool | None = None,
        on_error: Callable[[ValueError], None] | None = None,
    ) -> None:
        # It gets the delimiter of a first line such as sep=;, once that is read.
        self.row_format = row_format
        self.columns = USUAL_COLUMNS  # set by the first row
        self.header: list[str] = []  # only for CSV and TSV with column names
        self.n_rejected = 0  # rows of JSON lines that an annotator has rejected
        self._lines = lines
        self._source = source
        self._labelled = labelled  # False: read only texts
        # False: one label per row, True: any number, None: one or more
        self._multilabel = multilabel
        self._on_error = on_error  # called with the error of a skipped row; None raises it

    def __iter__(self) -> Iterator[Row]:
        if self.row_format.name == "jsonl":
            return self._json_rows()
        if self.row_format.name == "fasttext":
            if self.row_format.columns != USUAL_COLUMNS:
                raise ValueError(
                    f"{self._source}: a fastText file has no columns; text_column and label_column "
                    "must be None."
                )
            return self._fasttext_rows()
        return self._delimited_rows()

    @property
    def guessed_column(self) -> str | None:
        """The label column if chosen as the only other one; None if named or with a usual name."""
        name = self.columns.label
        return (
            None
            if name is None or self.row_format.columns.label or folded(name) in LABEL_NAMES
            else name
        )

    def _delimited_rows(self) -> Iterator[Row]:
        """Read CSV or TSV with a header, or with class numbers in the first column."""
        lines = iter(self._lines)
        first = next(lines, "")
        separator = _SEPARATOR_LINE.fullmatch(first)
        if separator is not None and self.row_format.delimiter is None:
            self.row_format = replace(self.row_format, delimiter=separator[1])
        row_format = self.row_format
        lines = chain([first] if separator is None else ["\n"], lines)  # a blank line is counted
        records = delimited_records(lines, self._source, row_format, self._on_error)
        text_columns, label_index = slice(1, None), None
        names: list[str] = []
        last = ""  # field of the row before
        for start, fields in records:
            if not names:
                if any("\0" in name for name in fields):
                    raise self._error(
                        start, "NUL bytes in the first line. Is the file UTF-16, or binary?"
                    )
                self._check_decoded(fields, start)
                if self._is_first_row(fields):
                    names, label_index = ["class number", *["text"] * (len(fields) - 1)], 0
                else:
                    names = self.header = fields
                    text_index, label_index = self._find_columns(
                        fields, f"{self._source}, line {start}"
                    )
                    text_columns = slice(text_index, text_index + 1)
                    continue
            try:
                self._check_decoded(fields, start)
                if len(fields) != len(names):
                    if row_format.escapechar:
                        hint = (
                            f" The escapechar {row_format.escapechar!r} at the end of an unquoted "
                            "field may have joined two rows: write it twice there, or leave "
                            "escapechar (--escapechar) out if nothing is escaped in this file."
                        ) * any("\n" in field for field in fields)
                    else:
                        hint = _escape_hint(any(field.endswith("\\") for field in [last, *fields]))
                    expected = f"{len(names)} fields ({', '.join(names)})"
                    raise self._error(start, f"expected {expected}, got {len(fields)}.{hint}")
                if not self.header and not is_class_number(fields[0]):
                    raise self._error(
                        start,
                        f"expected a class number, as in the first row, got {fields[0][:40]!r}.",
                    )
                labels = (
                    () if label_index is None else self._split_labels(fields[label_index], start)
                )
            except ValueError as error:
                self._skip(error)
            else:
                last = fields[-1]
                yield Row(
                    start,
                    " ".join(fields[text_columns]),
                    labels,
                    None if self._labelled else fields,
                )

    def _json_rows(self) -> Iterator[Row]:
        """Read JSON lines: objects with a text, and a label (string, number, boolean) or a list."""
        names: tuple[str, str | None] | None = None
        for number, line in enumerate(self._lines, start=1):
            if not line.strip():
                continue
            location = f"{self._source}, line {number}"
            try:
                self._check_decoded([line], number)
                record = _json_object(line, location)
            except ValueError as error:
                self._skip(error)
                continue
            if names is None:
                keys = list(record)
                text_index, label_index = self._find_columns(keys, location)
                names = keys[text_index], None if label_index is None else keys[label_index]
            try:
                row = self._json_row(record, names, number, check_surrogates="\\ud" in line.lower())
            except ValueError as error:
                self._skip(error)
                continue
            if self._labelled and names[1] != "answer" and record.get("answer") in _ANSWERS_NO:
                self.n_rejected += 1
            else:
                yield row

    def _json_row(
        self,
        record: dict[str, Any],
        names: tuple[str, str | None],
        number: int,
        *,
        check_surrogates: bool,
    ) -> Row:
        for name in names:
            if name is not None and name not in record:
                raise self._error(number, f"expected the key {name!r}, got {list(record)}.")
        text, label = record[names[0]], [] if names[1] is None else record[names[1]]
        if not isinstance(text, str):
            raise self._error(
                number, f"expected a string under {names[0]!r}, got {_json_type(text)}."
            )
        values = label if isinstance(label, list) else [label]
        for value in values:
            if not isinstance(value, str | int | float):
                one = (
                    "strings or numbers in the list"
                    if isinstance(label, list)
                    else "a label or a list of labels"
                )
                raise self._error(
                    number, f"expected {one} under {names[1]!r}, got {_json_type(value)}."
                )
        if check_surrogates:
            for kind, part in (("text", text), *(("label", str(value)) for value in values)):
                if surrogate := _SURROGATE.search(part):
                    raise self._error(
                        number,
                        f"character {surrogate.start() + 1} of the {kind} is "
                        f"\\u{ord(surrogate[0]):04x}, half of a surrogate pair.",
                    )
        if isinstance(label, list):
            labels = tuple(
                dict.fromkeys(self._check_label(_json_label(value), number) for value in label)
            )
            if self._labelled and self._multilabel is False and len(labels) != 1:
                raise self._error(
                    number, f"expected one label under {names[1]!r}, got a list of {len(labels)}."
                )
        else:
            labels = self._split_labels(_json_label(label), number)
        return Row(number, text, labels, None if self._labelled else record)

    def _fasttext_rows(self) -> Iterator[Row]:
        """Read fastText's format: words with the prefix are labels, anywhere in the line."""
        prefix = self.row_format.label_prefix
        split = fasttext_splitter(prefix)
        for number, line in enumerate(self._lines, start=1):
            if not line.strip():
                continue
            labels, text = split(line)
            try:
                self._check_decoded([line], number)
                if self._labelled:
                    self._check_fasttext_labels(labels, text, number)
                checked = tuple(
                    self._check_label(label.removeprefix(prefix), number) for label in labels
                )
            except ValueError as error:
                self._skip(error)
            else:
                yield Row(number, text, tuple(dict.fromkeys(checked)))

    def _check_fasttext_labels(self, labels: list[str], text: str, number: int) -> None:
        if len(labels) == 1 or self._multilabel or (labels and self._multilabel is None):
            return
        prefix = self.row_format.label_prefix
        if not labels:
            message = f"expected {prefix}LABEL, got {text[:40]!r} without a label."
            raise self._error(
                number, f"{message} Labels with another prefix: label_prefix (--label-prefix)."
            )
        raise self._error(
            number,
            f"expected one label, got {labels[0][:40]!r} and {labels[1][:40]!r}. If the second is "
            f"a word of the text, write it without {prefix}, or use another format; for several "
            "labels per text pass multilabel=True.",
        )

    def _is_first_row(self, fields: list[str]) -> bool:
        """Return whether the first line is not a header: a class number and text."""
        is_number = list(map(is_class_number, fields))
        if (
            not self._labelled
            or self.row_format.columns != USUAL_COLUMNS
            or not is_number[0]
            or all(is_number)
        ):
            return False
        return not {*map(folded, fields)} & {*LABEL_NAMES, *TEXT_NAMES}

    def _find_columns(self, names: list[str], location: str) -> tuple[int, int | None]:
        text_index, label_index = find_columns(
            names, self.row_format.columns, location, labelled=self._labelled
        )
        self.columns = Columns(
            names[text_index], None if label_index is None else names[label_index]
        )
        return text_index, label_index

    def _split_labels(self, field: str, line: int) -> tuple[str, ...]:
        """Return the label of a field or, with a separator, its distinct labels."""
        separator = self.row_format.label_separator
        if separator is None:
            return (self._check_label(field, line),)
        names = (
            self._check_label(label, line) for label in field.split(separator) if label.strip()
        )
        labels = tuple(dict.fromkeys(names))
        if self._multilabel is False and len(labels) != 1:
            raise self._error(line, f"expected one label, got {len(labels)} in {field[:40]!r}.")
        return labels

    def _check_label(self, label: str, line: int) -> str:
        label = label.strip()
        if not label:
            raise self._error(line, "expected a label, got an empty one.")
        if len(label) > _MAX_LABEL_LENGTH:
            begin = f"expected a label, got {len(label)} characters that begin with {label[:40]!r}."
            raise self._error(line, f"{begin} Are text_column and label_column swapped?")
        if "\0" in label:  # numpy strips trailing NULs: "a" and "a\0" would become one label
            raise self._error(
                line, f"expected a label, got {label[:40]!r}, which has a NUL character."
            )
        return label

    def _check_decoded(self, fields: list[str], line: int) -> None:
        """Raise an error for undecoded bytes, which are surrogates where rows are skipped."""
        if self._on_error is not None and any(map(_HALF_DECODED.search, fields)):
            raise self._error(line, "the row has bytes that are not in the encoding.")

    def _error(self, line: int, message: str) -> ValueError:
        return ValueError(f"{self._source}, line {line}: {message}")

    def _skip(self, error: ValueError) -> None:
        if self._on_error is None:
            raise error
        self._on_error(error)


def fasttext_splitter(prefix: str) -> Callable[[str], tuple[list[str], str]]:
    """Return a function that splits a fastText line into its labels, with prefix, and its text."""
    # Labels at the start are split off one by one; later ones are removed with the space before
    # them.
    later_label = re.compile(rf"[{FASTTEXT_SPACES}\0]({re.escape(prefix)}[^{FASTTEXT_SPACES}\0]*)")

    def split(line: str) -> tuple[list[str], str]:
        labels, text = [], line.lstrip(FASTTEXT_SPACES)
        while text.startswith(prefix):
            label, *rest = _FASTTEXT_SEPARATOR.split(text, maxsplit=1)
            labels.append(label)
            text = rest[0] if rest else ""
        if prefix in text:
            labels += later_label.findall(text)
            text = later_label.sub("", text)
        return labels, text.rstrip("\r\n")

    return split


def delimited_records(
    lines: Iterable[str],
    source: str,
    row_format: RowFormat,
    on_error: Callable[[ValueError], None] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the nonblank rows of CSV or TSV, each with the number of its first line."""
    # Texts may have any length. The limit is global to the process and stays raised: restoring it
    # at the end of a file would break reading another file at the same time.
    if csv.field_size_limit() < _MAX_FIELD_SIZE:
        csv.field_size_limit(_MAX_FIELD_SIZE)
    # Strict: otherwise an unclosed quote would silently include the rest of the file.
    marks = _Marks()
    reader = csv.reader(
        _marked(lines, marks),
        delimiter=row_format.separator,
        quoting=csv.QUOTE_MINIMAL if row_format.quoted else csv.QUOTE_NONE,
        escapechar=row_format.escapechar,
        strict=True,
    )
    while True:
        start, marks.escapes = reader.line_num + 1, False
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            escapes = marks.escapes and not row_format.escapechar
            found = _describe_csv_error(error, escapes=escapes)
            message = f"{source}, line {start}: the row that begins here {found}"
            if on_error is None:
                raise ValueError(message) from error
            on_error(ValueError(message))
        else:
            if fields:
                yield (
                    start,
                    [field.replace(_RETURN, "\r") for field in fields] if marks.returns else fields,
                )


@dataclass
class _Marks:
    """Marks of lines that were read."""

    # whether a quote of the lines since the start of the row has a backslash before it
    escapes: bool = False
    returns: bool = False  # whether any line had a carriage return that does not end it


def _marked(lines: Iterable[str], marks: _Marks) -> Iterator[str]:
    """Yield lines for the csv module, with carriage returns within a line replaced."""
    for line in lines:
        if '\\"' in line:
            marks.escapes = True
        if "\r" in line and _LONE_RETURN.search(line):
            marks.returns = True
            line = _LONE_RETURN.sub(_RETURN, line)
        yield line


def is_class_number(field: str) -> bool:
    """Return whether a label is a class number: ``"1"``, ``"2"``, ..."""
    return field.strip().isdecimal() and field.isascii()


def _json_object(line: str, location: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    # ValueError also for numbers with thousands of digits
    except (ValueError, RecursionError) as error:
        raise _not_json_lines(line, location, f"invalid JSON ({error})") from error
    if not isinstance(record, dict):
        raise _not_json_lines(line, location, _json_type(record))
    return record


def _not_json_lines(line: str, location: str, found: str) -> ValueError:
    message = f"{location}: expected one JSON object on each line, got {found}."
    if line.lstrip().startswith("["):
        message += (
            " Is the file a JSON array? Convert it to JSON lines; pandas writes them with "
            "df.to_json(path, "
            'orient="records", lines=True).'
        )
    return ValueError(message)


def _json_label(label: str | float | bool) -> str:
    return label if isinstance(label, str) else json.dumps(label)


def _escape_hint(escapes: bool) -> str:
    if not escapes:
        return ""
    return (
        " If a backslash escapes characters in this file, pass escapechar='\\\\' "
        "(--escapechar '\\')."
    )


def _describe_csv_error(error: csv.Error, *, escapes: bool) -> str:
    """Describe an error of the csv module, with advice; ``escapes``: quotes follow backslashes."""
    if "field limit" in str(error):
        return (
            f"cannot be read ({error}). Another part of the program has lowered "
            "csv.field_size_limit."
        )
    message = f'has invalid quotes ({error}). A quote inside a quoted field is written twice ("").'
    if escapes:
        return message + _escape_hint(escapes)
    return (
        f"{message} Only if no field of the file is enclosed in quotes, pass quoted=False "
        "(--no-quotes)."
    )


def _json_type(value: object) -> str:
    types = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        type(None): "null",
    }
    return types.get(type(value), "a number")
