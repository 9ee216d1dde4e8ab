"""Labelled texts from a file of the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.datasets._lines import name_inside, read_lines
from sklearn_hashnlp.datasets._row_formats import Columns, Row, delimited_rows, fasttext_rows, json_rows

FORMATS = ("csv", "tsv", "jsonl", "fasttext")

_FORMAT_OF_EXTENSION = {
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

    The format follows from the name of the file (``.csv``; ``.tsv``, ``.tab``; ``.jsonl``, ``.ndjson``, ``.json``;
    ``.txt``, ``.ft``, ``.fasttext``, ``.train``, ``.valid``, ``.test``), to which ``.gz``, ``.bz2``, ``.xz`` or
    ``.zip`` may be added. Files are UTF-8. Blank lines are passed over, labels lose the blanks around them, texts
    are kept as they stand; an empty text is a text.

    Parameters
    ----------
    path : str or path-like
        The file. It may be a pipe, whose format must then be given, and which cannot be a zip archive.
    file_format : {"csv", "tsv", "jsonl", "fasttext"}, default=None
        The format, where the name of the file does not tell or tells wrong.
    text_column, label_column : str, default=None
        The columns (keys in JSON lines) to read. By default the usual names are looked for, in any case: ``text``,
        ``sentence``, ``document``, ... and ``label``, ``class``, ``category``, ... Where one of two columns is known,
        the other follows. A fastText file has no columns, and both are refused there.
    quoted : bool, default=True
        Whether quotes around a field of CSV or TSV are marks that are not part of it. With ``False`` a quote is a
        character like any other, as in many TSV files.
    progress : callable, default=None
        Called now and then with the number of bytes read and the size of the file; never for a pipe.

    Returns
    -------
    texts : list of str
        The texts in the order of the file.
    labels : ndarray of shape (n_texts,), dtype str
        Their labels; the numbers and booleans of JSON lines as JSON writes them.

    Raises
    ------
    OSError
        If the file cannot be opened, for example ``FileNotFoundError``.
    ValueError
        If the file is not what was expected: the message names the file, the line, what was expected and what came.

    See Also
    --------
    load_stdlib_docstrings : Real labelled text without a file.

    Notes
    -----
    Reading CSV or TSV raises :func:`csv.field_size_limit` of the process, so that a document may have any length.

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
        raise IsADirectoryError(f"{path} is a folder; expected a file of labelled texts ({', '.join(FORMATS)}).")
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
    if extension not in _FORMAT_OF_EXTENSION:
        raise ValueError(
            f"{path}: the format cannot be told from the name. Expected one of {', '.join(_FORMAT_OF_EXTENSION)} "
            f"(and .gz, .bz2, .xz or .zip after it), or file_format (--format), one of {', '.join(FORMATS)}."
        )
    return _FORMAT_OF_EXTENSION[extension]


def _rows(
    path: Path, file_format: str, columns: Columns, quoted: bool, progress: Callable[[int, int], None] | None
) -> Iterator[Row]:
    lines = read_lines(path, progress)
    if file_format == "jsonl":
        return json_rows(lines, path, columns)
    if file_format == "fasttext":
        if columns != Columns():
            raise ValueError(f"{path}: a fastText file has no columns, so text_column and label_column must be None.")
        return fasttext_rows(lines, path)
    return delimited_rows(lines, path, columns, delimiter="\t" if file_format == "tsv" else ",", quoted=quoted)


def _collect(rows: Iterable[Row], path: Path) -> tuple[list[str], NDArray[np.str_]]:
    texts: list[str] = []
    labels: list[str] = []
    for row in rows:
        texts.append(row.text)
        labels.append(row.label)
    if not texts:
        raise ValueError(f"{path}: expected labelled texts, found none: the file has no rows.")
    return texts, np.array(labels)
