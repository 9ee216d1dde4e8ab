"""Labeled texts from a CSV, TSV, JSON lines or fastText file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets._lines import name_inside, read_lines
from sklearn_hashnlp.datasets._row_formats import Columns, Row, delimited_rows, fasttext_rows, json_rows

FORMATS = ("csv", "tsv", "jsonl", "fasttext")

_FORMATS_BY_EXTENSION = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".fasttext": "fasttext",
    ".ft": "fasttext",
    ".txt": "fasttext",
    ".train": "fasttext",
    ".valid": "fasttext",
    ".test": "fasttext",
}


def load_labelled(
    path: str | os.PathLike[str],
    *,
    file_format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    quoted: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[str], NDArray[np.str_]]:
    r"""Load texts and their labels from a CSV, TSV, JSON lines or fastText file.

    The format is inferred from the file extension: ``.csv``; ``.tsv``, ``.tab``; ``.jsonl``, ``.ndjson``, ``.json``;
    ``.txt``, ``.ft``, ``.fasttext``, ``.train``, ``.valid``, ``.test``. Files compressed as ``.gz``, ``.bz2``, ``.xz``
    or ``.zip`` are decompressed. Files are UTF-8. Blank lines are skipped, whitespace around labels is stripped, texts
    are not changed; a text may be empty.

    Parameters
    ----------
    path : str or path-like
        The file. It may be a pipe, but then not a zip archive, and ``file_format`` must be given.
    file_format : {"csv", "tsv", "jsonl", "fasttext"}, default=None
        The format; by default inferred from the file extension.
    text_column, label_column : str, default=None
        The columns (keys of JSON lines) to read. By default the first column with a usual name, in upper or lower
        case: ``text``, ``sentence``, ``document``, ... and ``label``, ``class``, ``category``, ... If a file has two
        columns and one is known, the other is the other. Must be ``None`` for a fastText file, which has no columns.
    quoted : bool, default=True
        Whether quotes enclose fields of CSV and TSV. With ``False`` a quote is a character like any other, as in many
        TSV files.
    progress : callable, default=None
        Called every 1000 lines with the number of bytes read and the size of the file; not for a pipe.

    Returns
    -------
    texts : list of str
        The texts, in the order of the file.
    labels : ndarray of shape (n_texts,), dtype str
        Their labels. Numbers and booleans of JSON lines are written as in JSON.

    Raises
    ------
    OSError
        If the file cannot be opened, for example ``FileNotFoundError``.
    ValueError
        If the file cannot be read as expected; the message names the file and the line.

    See Also
    --------
    load_stdlib_docstrings : Load real labeled texts without a file.

    Notes
    -----
    Reading CSV or TSV raises :func:`csv.field_size_limit` of the process, so that a text may have any length.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_hashnlp.datasets import load_labelled
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "mail.csv"
    >>> _ = path.write_text('label,text\nspam,"Win, now!"\nham,See you at 8\n', encoding="utf-8")
    >>> texts, labels = load_labelled(path)
    >>> texts
    ['Win, now!', 'See you at 8']
    >>> labels.tolist()
    ['spam', 'ham']
    >>> folder.cleanup()
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file of labeled texts ({', '.join(FORMATS)}).")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    rows = _rows(path, _format_of(path, file_format), Columns(text_column, label_column), quoted, progress)
    return _collect(rows, path)


def _format_of(path: Path, file_format: str | None) -> str:
    if file_format is not None:
        if file_format not in FORMATS:
            raise ValueError(f"file_format must be one of {', '.join(FORMATS)}. Got {file_format!r} instead.")
        return file_format
    extension = Path(name_inside(path)).suffix.lower()
    if extension not in _FORMATS_BY_EXTENSION:
        raise ValueError(
            f"{path}: the format cannot be inferred from the file extension. Expected one of "
            f"{', '.join(_FORMATS_BY_EXTENSION)} (.gz, .bz2, .xz or .zip may follow), or file_format (--format): one "
            f"of {', '.join(FORMATS)}."
        )
    return _FORMATS_BY_EXTENSION[extension]


def _rows(
    path: Path, file_format: str, columns: Columns, quoted: bool, progress: Callable[[int, int], None] | None
) -> Iterator[Row]:
    lines = read_lines(path, progress)
    if file_format == "jsonl":
        return json_rows(lines, path, columns)
    if file_format == "fasttext":
        if columns != Columns():
            raise ValueError(f"{path}: a fastText file has no columns; text_column and label_column must be None.")
        return fasttext_rows(lines, path)
    return delimited_rows(lines, path, columns, delimiter="\t" if file_format == "tsv" else ",", quoted=quoted)


def _collect(rows: Iterable[Row], path: Path) -> tuple[list[str], NDArray[np.str_]]:
    texts: list[str] = []
    labels: list[str] = []
    for row in rows:
        texts.append(row.text)
        labels.append(row.label)
    if not texts:
        raise ValueError(f"{path}: expected labeled texts, got a file without rows.")
    return texts, np.array(labels)
