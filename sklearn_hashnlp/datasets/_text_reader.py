"""Texts without labels, with their rows: of a file, or of a stream as soon as they arrive."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Literal, TypeAlias, get_args

from sklearn_hashnlp._text_files import (
    Decoding,
    check_errors,
    check_is_file,
    name_inside,
    read_lines,
    suffix_of,
)
from sklearn_hashnlp.datasets._label_checks import warn_user
from sklearn_hashnlp.datasets._row_formats import (
    FASTTEXT_PREFIX,
    TEXT_NAMES,
    Columns,
    RowFormat,
    format_of_name,
)
from sklearn_hashnlp.datasets._row_reader import Row, RowReader, fasttext_splitter

TextFormat: TypeAlias = Literal["lines", "csv", "tsv", "jsonl", "fasttext"]
Errors: TypeAlias = Literal["strict", "replace", "skip"]

_TABLES = ("csv", "tsv", "jsonl")
_CHUNK_BYTES = 2**20
_NAME = re.compile(r"[\w.-]+")


class TextReader:
    r"""Read texts without labels, each with the row of the file that it is in.

    Iterate over the reader once for the texts as named tuples with ``line``, the number of the
    first line, ``text``, and ``record``: a list of the fields of CSV and TSV, the object of JSON
    lines, or None for a line. Only the rows in use are in memory. Of a stream, such as a pipe, a
    text is yielded as soon as its line has arrived.

    Parameters
    ----------
    file : str, path-like or binary file
        The file, which may be compressed as ``.gz``, ``.bz2``, ``.xz`` or ``.zip``; or a stream of
        bytes that is open for reading, such as ``sys.stdin.buffer``.
    file_format : {"lines", "csv", "tsv", "jsonl", "fasttext"}, default=None
        The format. ``"lines"``: each line is a text, also an empty one. ``"fasttext"``: the same,
        without the words that are labels. The others as in :func:`load_labelled`. By default
        inferred from the file extension, of which ``.txt`` and all unknown ones have lines, as a
        stream has.
    text_column : str, default=None
        The column (key of JSON lines) with the texts, by default the first one with a common name,
        such as ``text``.
    quoted, delimiter, escapechar, label_prefix, encoding
        As in :func:`load_labelled`.
    errors : {"strict", "replace", "skip"}, default="strict"
        As in :func:`load_labelled`; ``"skip"`` only for tables, since a line without a text would
        shift all others.
    progress : callable, default=None
        Called every 1000 lines with the number of bytes read and the file size; not for a stream or
        a pipe.

    Attributes
    ----------
    file_format : str
        The format.
    header : list of str
        The columns of CSV and TSV, from the first text on.
    text_column : str or None
        The column of the texts, from the first text on; None for lines.
    delimiter : str or None
        The delimiter of the parameter or of a first line such as ``sep=;``; None is that of the
        format.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file cannot be read as expected; the message contains the file and the line. If the
        reader is iterated twice, or ``size`` of batches is below 1. Also if
        the first line of a file with an unknown extension looks like JSON or the header of a table.

    Warns
    -----
    UserWarning
        If rows are skipped, or the first line looks like a header or has labels.

    See Also
    --------
    load_labelled : Load texts and labels.
    stream_paragraphs : Read paragraphs to train on, without blank lines.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_hashnlp.datasets import TextReader
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "mail.csv"
    >>> _ = path.write_text("id,text\n7,Win now!\n8,See you\n", encoding="utf-8")
    >>> for rows in TextReader(path).batches(1000):
    ...     print([row.text for row in rows], [row.record for row in rows])
    ['Win now!', 'See you'] [['7', 'Win now!'], ['8', 'See you']]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        file_format: TextFormat | None = None,
        text_column: str | None = None,
        quoted: bool = True,
        delimiter: str | None = None,
        escapechar: str | None = None,
        label_prefix: str = FASTTEXT_PREFIX,
        encoding: str = "utf-8",
        errors: Errors = "strict",
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        check_errors(errors, get_args(Errors))
        decoding = Decoding(encoding, "surrogateescape" if errors == "skip" else errors)
        self._lines: Iterable[str]
        named = None
        if isinstance(file, str | os.PathLike):
            path = Path(file)
            check_is_file(path, "a text file")
            named = format_of_name(name_inside(path)) if path.suffix.lower() != ".txt" else None
            self._source, self._lines = str(path), read_lines(path, progress, decoding)
        elif hasattr(file, "encoding") or not hasattr(file, "read"):
            raise TypeError(
                "TextReader: file must be a path or a stream of bytes, such as open(path, 'rb') "
                f"and sys.stdin.buffer, got {file!r:.60}."
            )
        else:
            self._source = str(getattr(file, "name", "<stdin>")).strip("<>")
            self._lines = _StreamLines(file, self._source, decoding)
        self.file_format = file_format or named or "lines"
        if self.file_format not in get_args(TextFormat):
            raise ValueError(
                f"file_format must be one of {', '.join(get_args(TextFormat))}. Got "
                f"{file_format!r}."
            )
        self._checks_first, self._label_prefix = file_format is None, label_prefix
        self._n_skipped, self._first_error = 0, ""
        self._is_read = False
        self._rows: RowReader | None = None
        if self.file_format in _TABLES:
            row_format = RowFormat(
                self.file_format, Columns(text_column), delimiter, quoted, escapechar
            )
            on_error = self._skip if errors == "skip" else None
            self._rows = RowReader(
                self._lines, self._source, row_format, labelled=False, on_error=on_error
            )
        elif errors == "skip" or not quoted or not text_column is delimiter is escapechar is None:
            raise ValueError(
                "text_column, delimiter, escapechar, quoted=False (--no-quotes) and errors='skip' "
                f"(--errors skip) are for tables, and {self._source} is read as "
                f"{self.file_format}. For a table pass file_format 'csv', 'tsv' or 'jsonl' "
                "(--format csv)."
            )

    @property
    def header(self) -> list[str]:
        """The columns of CSV and TSV, from the first text on."""
        return [] if self._rows is None else self._rows.header

    @property
    def text_column(self) -> str | None:
        """The column of the texts, from the first text on; None for lines."""
        return None if self._rows is None else self._rows.columns.text

    @property
    def delimiter(self) -> str | None:
        """The delimiter by parameter or first line, as ``sep=;``; None is the format's default."""
        return None if self._rows is None else self._rows.row_format.delimiter

    def __iter__(self) -> Iterator[Row]:
        if self._is_read:
            raise ValueError(f"TextReader reads {self._source} once. Make another one.")
        self._is_read = True
        if self._rows is None:
            yield from self._plain_rows()
            return
        yield from self._rows
        if self._n_skipped:
            rows = f"{self._n_skipped:,} {'row' if self._n_skipped == 1 else 'rows'}"
            warn_user(f"Skipped {rows} that cannot be read, the first of them: {self._first_error}")

    def batches(self, size: int) -> Iterator[list[Row]]:
        """Yield the texts in lists, of a stream without waiting for the next text.

        Texts before an error are yielded first.

        Parameters
        ----------
        size : int
            The largest number of texts in a list.

        Yields
        ------
        list of named tuples
            The texts, as the reader itself yields them.
        """
        if size < 1:
            raise ValueError(f"TextReader.batches: size must be at least 1, got {size!r}.")
        batch: list[Row] = []
        first_error: Exception | None = None
        stream = self._lines if isinstance(self._lines, _StreamLines) else None
        try:
            for row in self:
                batch.append(row)
                if len(batch) == size or (stream is not None and not stream.ready):
                    yield batch
                    batch = []
        except (OSError, ValueError) as error:
            first_error = error
        if batch:
            yield batch
        if first_error is not None:
            raise first_error

    def _plain_rows(self) -> Iterator[Row]:
        """Yield the text of each line; the first line may be that of another format."""
        lines, has_labels = iter(self._lines), self.file_format == "fasttext"
        if self._checks_first:
            first = next(lines, None)
            if first is None:
                return
            has_labels |= self._check_first(first)
            lines = chain([first], lines)
        split = fasttext_splitter(self._label_prefix)
        for number, line in enumerate(lines, start=1):
            text = line.removesuffix("\n").removesuffix("\r")
            yield Row(
                number, split(text)[1] if has_labels and self._label_prefix in text else text, ()
            )

    def _check_first(self, line: str) -> bool:
        """Refuse a first line that is JSON or a header, and return whether it has labels."""
        _refuse_table(line, self._source)
        name = line.strip().strip('"')
        if name.casefold() in TEXT_NAMES and len(name) > 1:
            warn_user(
                f"The first line, {name!r}, is read as a text; --format csv reads it as a header "
                "(file_format='csv')."
            )
        has_labels = line.startswith(self._label_prefix)
        if has_labels:
            warn_user(
                f"{self._source} has labels ({self._label_prefix}...), which are removed from the "
                "texts."
            )
        return has_labels

    def _skip(self, error: ValueError) -> None:
        self._first_error = self._first_error or str(error)
        self._n_skipped += 1


def _refuse_table(first_line: str, source: str) -> None:
    """Raise an error if the first line is a JSON object or a header with a usual text column."""
    kind = ""
    file_format = ""
    more = ""
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
                kind, file_format = "the header of a table", "tsv" if delimiter == "\t" else "csv"
                more = " and delimiter=';' (--delimiter ';')" if delimiter == ";" else ""
    if kind:
        raise ValueError(
            f"{source}, line 1: {first_line.strip()[:60]!r} looks like {kind}, not like a text. "
            f"Pass file_format='{file_format}' (--format {file_format}){more}, or 'lines' "
            "(--format lines) to read each line as a text."
        )


class _StreamLines:
    """The lines of a stream; ``ready`` is whether the next one has arrived already."""

    def __init__(self, stream: IO[bytes], source: str, decoding: Decoding) -> None:
        self.ready = False
        self._stream = decoding.stream(stream)
        self._source = source
        self._decoding = decoding

    def __iter__(self) -> Iterator[str]:
        rest: list[bytes] = []  # chunks of an unfinished line, joined once
        number = 0
        read = (
            self._stream.read1 if isinstance(self._stream, io.BufferedReader) else self._stream.read
        )
        while chunk := read(_CHUNK_BYTES):
            # Search only the new chunk: a huge line of many chunks is searched once.
            end = chunk.rfind(b"\n") + 1
            if not end:
                rest.append(chunk)
                continue
            complete = b"".join([*rest, chunk[:end]])
            rest = [chunk[end:]] if end < len(chunk) else []
            lines = complete[:-1].split(b"\n")
            for index, line in enumerate(lines, start=1):
                self.ready = index < len(lines)
                yield self._decode(line, number + index) + "\n"
            number += len(lines)
        if rest:
            yield self._decode(b"".join(rest), number + 1)

    def _decode(self, line: bytes, number: int) -> str:
        if number == 1 and suffix_of(line) is not None:
            raise ValueError(
                f"{self._source} is compressed. Decompress it first, for example with zcat, or "
                "pass the name of the file."
            )
        return self._decoding.line(line, self._source, number)
