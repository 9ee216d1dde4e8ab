"""Formats of the texts of ``hashnlp predict``: lines, or rows of a table that are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from sklearn_hashnlp.cli._options import TextOptions
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._lines import Lines, check_text_file, is_stdin, open_lines, strip_line_end

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets._row_formats import RowFormat

TABLES = ("csv", "tsv", "jsonl")

_TABLE_OPTIONS = "--text-column, --delimiter, --escapechar and --no-quotes"
_MAX_NOTES = 5
_NAME = re.compile(r"[\w.-]+")


class Text(NamedTuple):
    """A text to predict, and its row: a list of fields, a JSON object, or None for a line."""

    text: str
    record: Any


class OpenedTexts(NamedTuple):
    """The texts of a file, and their table, if there is one."""

    texts: Iterable[Text]
    table: TableTexts | None
    ready: Callable[[], bool]  # whether the next text can be read without waiting for it


class TextSource:
    """A file of texts, or stdin, and how to read it."""

    def __init__(self, file: Path | None, options: TextOptions) -> None:
        check_text_file(file)
        self.file, self._options = file, options
        self._guessed = options.file_format is None  # the format follows from the name of the file
        self._skips = options.errors == "skip"
        of_tables = options.text_column is not None or options.delimiter is not None or not options.quoted
        of_tables |= options.escapechar is not None
        self.kind = find_text_format(file, options.file_format, table_options=of_tables)
        if of_tables and self.kind not in TABLES:
            raise typer.BadParameter(f"{_TABLE_OPTIONS} are for tables, not for {self.kind}.")
        if self._skips and self.kind not in TABLES:
            raise typer.BadParameter(
                "--errors skip is for tables; a line without a prediction would shift those after it."
            )

    @contextmanager
    def open(self, screen: Screen, *, action: str, bar: bool | None) -> Iterator[OpenedTexts]:
        """Open the file; ``action`` and ``bar`` as in :func:`open_lines`."""
        from sklearn_hashnlp.datasets._row_formats import Columns, RowFormat

        options = self._options
        with open_lines(screen, self.file, options.decoding, action=action, unit="text", bar=bar) as opened:
            table = None
            if self.kind in TABLES:
                of_fields = options.delimiter, options.quoted, options.escapechar
                row_format = RowFormat(self.kind, Columns(options.text_column), *of_fields)
                table = TableTexts(screen, opened, row_format, skip=self._skips)
            lines = plain_texts(screen, opened, options.label_prefix, text_format=self.kind, check=self._guessed)
            yield OpenedTexts(lines if table is None else table, table, opened.ready)


def find_text_format(file: Path | None, file_format: str | None, *, table_options: bool) -> str:
    """Return ``"lines"``, ``"fasttext"`` or one of ``TABLES``; a ``.txt`` file without a format has lines."""
    if file_format is not None:
        return file_format
    if file is not None and not is_stdin(file):
        from sklearn_hashnlp._text_files import name_inside

        named = format_by_name(name_inside(file))
        if named is not None:
            return named
    if table_options:
        source = "stdin" if file is None or is_stdin(file) else str(file)
        raise typer.BadParameter(
            f"{_TABLE_OPTIONS} are for tables, and {source} is not known to be one: add --format csv, tsv or jsonl."
        )
    return "lines"


def format_by_name(name: str) -> str | None:
    """Return the format that the extension of a file's name stands for; None for ``.txt`` and unknown ones."""
    from sklearn_hashnlp.datasets._labelled import FORMATS_BY_EXTENSION

    extension = Path(name).suffix.lower()
    return None if extension == ".txt" else FORMATS_BY_EXTENSION.get(extension)


def plain_texts(screen: Screen, opened: Lines, label_prefix: str, *, text_format: str, check: bool) -> Iterator[Text]:
    """Yield the text of each line; ``check`` refuses a first line that is a header or a JSON object."""
    from sklearn_hashnlp.datasets._row_formats import TEXT_NAMES, fasttext_splitter

    lines: Iterable[str] = opened.lines
    if check:
        lines = iter(lines)
        first = next(lines, None)
        if first is None:
            return
        _refuse_table(first, opened.source)
        name = strip_line_end(first).strip().strip('"')
        if name.casefold() in TEXT_NAMES and len(name) > 1:
            screen.note(f"The first line, {name!r}, is read as a text; --format csv reads it as a header.")
        if first.startswith(label_prefix):
            screen.note(f"{opened.source} has labels ({label_prefix}...), which are removed from the texts.")
            text_format = "fasttext"
        lines = chain([first], lines)
    if text_format != "fasttext":
        yield from (Text(strip_line_end(line), None) for line in lines)
        return
    split = fasttext_splitter(label_prefix)
    for text in map(strip_line_end, lines):
        yield Text(split(text)[1] if label_prefix in text else text, None)


def _refuse_table(first_line: str, source: str) -> None:
    """Raise an error if the first of some lines is a JSON object, or a header with a usual name of a text column."""
    from sklearn_hashnlp.datasets._row_formats import TEXT_NAMES

    kind, file_format = "", ""
    if first_line.lstrip().startswith("{"):
        try:
            json.loads(first_line)
        except (ValueError, RecursionError):
            return
        kind, file_format = "JSON", "jsonl"
    else:
        for delimiter in ",\t;":
            names = [name.strip('"') for name in first_line.strip().split(delimiter)]
            usual = any(name.casefold() in TEXT_NAMES for name in names)
            if len(names) > 1 and usual and all(map(_NAME.fullmatch, names)):
                kind = "the header of a table"
                file_format = {",": "csv", "\t": "tsv"}.get(delimiter, f"csv --delimiter '{delimiter}'")
    if kind:
        raise ValueError(
            f"{source}, line 1: {first_line.strip()[:60]!r} looks like {kind}, not like a text. Add --format "
            f"{file_format}, or --format lines to read each line as a text."
        )


class SkippedRows:
    """Name the first rows that cannot be read, and count all of them."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._n_rows = 0

    def __call__(self, error: ValueError) -> None:
        """Note the error of a row."""
        self._n_rows += 1
        if self._n_rows <= _MAX_NOTES:
            self._screen.note(f"Skipped: {error}")

    def report(self) -> None:
        """Note the number of rows."""
        if self._n_rows:
            self._screen.note(f"Skipped {counted(self._n_rows, 'row')} that cannot be read")


class TableTexts:
    """The texts of a table with their rows, and a note of what was read."""

    def __init__(self, screen: Screen, opened: Lines, row_format: RowFormat, *, skip: bool) -> None:
        from sklearn_hashnlp.datasets._row_formats import RowReader

        self._screen = screen
        self._source = opened.source
        self._skipped = SkippedRows(screen)
        on_error = self._skipped if skip else None
        self._reader = RowReader(opened.lines, opened.source, row_format, labelled=False, on_error=on_error)

    def __iter__(self) -> Iterator[Text]:
        return (Text(row.text, row.record) for row in self._reader)

    @property
    def header(self) -> list[str]:
        """Names of the columns of CSV and TSV, known from the first row on; empty for JSON lines."""
        return self._reader.header

    @property
    def delimiter(self) -> str | None:
        """The delimiter of an option or of a first line such as ``sep=;``, known as the header; None: the format's."""
        return self._reader.row_format.delimiter

    def report(self, n_texts: int) -> None:
        """Note the number of texts, their column, and the number of rows that were skipped."""
        column = self._reader.columns.text
        source = self._source if column is None else f"column {column} of {self._source}"  # None: there was no row
        self._screen.note(f"Read {counted(n_texts, 'text')} from {source}")
        self._skipped.report()
