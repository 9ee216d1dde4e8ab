"""Labeled texts from a CSV, TSV, JSON lines or fastText file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._text_files import Decoding, check_errors, check_is_file, name_inside, read_lines
from sklearn_hashnlp.datasets._label_checks import check_label_texts, check_repeated, warn_of_twins, warn_user
from sklearn_hashnlp.datasets._row_formats import FASTTEXT_PREFIX, FORMATS, Columns, Row, RowFormat, RowReader

FORMATS_BY_EXTENSION: Final = {
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

Errors = Literal["strict", "replace", "skip"]


def load_labelled(
    path: str | os.PathLike[str],
    *,
    file_format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    quoted: bool = True,
    delimiter: str | None = None,
    escapechar: str | None = None,
    label_prefix: str = FASTTEXT_PREFIX,
    label_separator: str | None = None,
    multilabel: bool | None = None,
    encoding: str = "utf-8",
    errors: Errors = "strict",
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[str], Any]:  # an array, or lists of labels
    r"""Load texts and their labels from a CSV, TSV, JSON lines or fastText file.

    The format is inferred from the file extension: ``.csv``; ``.tsv``, ``.tab``; ``.jsonl``, ``.ndjson``, ``.json``;
    ``.txt``, ``.ft``, ``.fasttext``, ``.train``, ``.valid``, ``.test``. Files compressed as ``.gz``, ``.bz2``, ``.xz``
    or ``.zip`` are decompressed. Blank lines are skipped, whitespace around labels is stripped, texts are not changed;
    a text may be empty. Rows of JSON lines with ``"answer": "reject"`` or ``"ignore"``, as Prodigy writes them, are
    skipped.

    Parameters
    ----------
    path : str or path-like
        The file. It may be a pipe, but then not a zip archive, and ``file_format`` must be given.
    file_format : {"csv", "tsv", "jsonl", "fasttext"}, default=None
        The format; by default inferred from the file extension.
    text_column, label_column : str, default=None
        The columns (keys of JSON lines) to read. By default the first column with a common name, in upper or lower
        case: ``text``, ``sentence``, ``document``, ... and ``label``, ``class``, ``category``, ... In a file with two
        columns, one of them suffices. A first line of a class number and text, as in the data sets of Zhang,
        Zhao and LeCun, is not a header: the number is the label, and the other fields are joined by spaces.
        Must be ``None`` for a fastText file, which has no columns.
    quoted : bool, default=True
        Whether quotes enclose fields of CSV and TSV. With ``False`` a quote is an ordinary character, as in many TSV
        files.
    delimiter : str, default=None
        Character between the fields of CSV and TSV, such as ``";"``. By default the character of a first line such as
        ``sep=;``, which Excel writes, or else a comma, and a tab for TSV.
    escapechar : str, default=None
        Character of CSV and TSV before a quote, a delimiter or a line break that belongs to the text, such as ``"\\"``
        in files of Spark and MySQL. By default a quote in a quoted field is written twice.
    label_prefix : str, default="__label__"
        Prefix of the labels of a fastText file. Every word of a line with this prefix is a label and not a word of the
        text.
    label_separator : str, default=None
        Separator of multiple labels in a field of CSV, TSV or JSON lines, such as ``","``; an empty field then has no
        label. By default a field is one label. A list in JSON lines is always a list of labels.
    multilabel : bool, default=None
        Whether texts may have any number of labels, so that ``labels`` is a list of lists. ``False``: exactly one
        label. By default ``labels`` is a list of lists if any text does not have exactly one label.
    encoding : str, default="utf-8"
        The encoding of the file, such as ``"cp1252"`` or ``"utf-16"``. A byte order mark is skipped.
    errors : {"strict", "replace", "skip"}, default="strict"
        Bytes that are not in the encoding: an error, or the replacement character U+FFFD. ``"skip"`` excludes rows with
        such bytes, and all others that cannot be read, with a warning.
    progress : callable, default=None
        Called every 1000 lines with the number of bytes read and the file size; not for a pipe.

    Returns
    -------
    texts : list of str
        The texts, in the order of the file.
    labels : ndarray of shape (n_texts,), dtype str, or list of list of str
        Their labels; for multilabel data the list of labels of each text, without duplicates. Numbers and booleans of
        JSON lines are written as in JSON.

    Raises
    ------
    OSError
        If the file cannot be opened, for example ``FileNotFoundError``.
    ValueError
        If the file cannot be read as expected; the message contains the file and the line. Also if labels are lists
        written as text or have the replacement character U+FFFD, or if nearly all rows have different labels in a
        column without a usual name.

    Warns
    -----
    UserWarning
        If rows are skipped, if nearly all rows have different labels, or if labels differ in invisible characters only.

    See Also
    --------
    stream_labelled : Read files of any size in batches.
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
    >>> _ = path.write_text(
    ...     'label,text\nspam,"Win, now!"\nham,See you at 8\n', encoding="utf-8"
    ... )
    >>> texts, labels = load_labelled(path)
    >>> texts
    ['Win, now!', 'See you at 8']
    >>> labels.tolist()
    ['spam', 'ham']
    >>> folder.cleanup()
    """
    columns = Columns(text_column, label_column)
    options = delimiter, quoted, escapechar, label_prefix, label_separator
    row_format = RowFormat(find_format(path, file_format), columns, *options)
    rows = _OpenedRows(path, row_format, multilabel, encoding, errors, progress)
    texts, labels = collect_rows(rows, rows.reader, path, multilabel)
    warn_of_twins(set(chain.from_iterable(labels)) if isinstance(labels, list) else set(labels.tolist()), str(path))
    return texts, labels


def stream_labelled(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    batch_size: int = 10_000,
    file_format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    quoted: bool = True,
    delimiter: str | None = None,
    escapechar: str | None = None,
    label_prefix: str = FASTTEXT_PREFIX,
    label_separator: str | None = None,
    multilabel: bool = False,
    encoding: str = "utf-8",
    errors: Errors = "strict",
) -> Iterator[tuple[list[str], NDArray[np.str_] | list[list[str]]]]:
    r"""Read the texts and labels of files of any size, in batches, for ``partial_fit``.

    Only one batch is in memory.

    Parameters
    ----------
    paths : str, path-like, or iterable of str or path-like
        The file, as in :func:`load_labelled`, or several files, which are read in their order and must exist. A file is
        opened when its first row is read. A batch may have rows of several files.
    batch_size : int, default=10000
        Number of texts per batch; the last one may have fewer.
    file_format, text_column, label_column, quoted, delimiter, escapechar, label_prefix, label_separator
        As in :func:`load_labelled`.
    multilabel : bool, default=False
        Whether the labels of a batch are a list of the labels of each text. With ``False`` a text must have exactly one
        label.
    encoding, errors
        As in :func:`load_labelled`.

    Yields
    ------
    texts : list of str
        The texts of a batch.
    labels : ndarray of shape (n_texts,), dtype str, or list of list of str
        Their labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.datasets import stream_labelled
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "mail.csv"
    >>> _ = path.write_text(
    ...     "label,text\nspam,Win now!\nham,See you at 8\nham,Thanks\n",
    ...     encoding="utf-8",
    ... )
    >>> model = TextClassifier(random_state=0)
    >>> for texts, labels in stream_labelled(path, batch_size=2):
    ...     print(texts, labels.tolist())
    ...     model = model.partial_fit(texts, labels, classes=["ham", "spam"])
    ['Win now!', 'See you at 8'] ['spam', 'ham']
    ['Thanks'] ['ham']
    >>> folder.cleanup()
    """
    if not hasattr(batch_size, "__index__") or batch_size < 1:
        raise ValueError(f"batch_size must be an integer of at least 1. Got {batch_size!r}.")
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise ValueError("paths must be one file or several. Got none.")
    options = Columns(text_column, label_column), delimiter, quoted, escapechar, label_prefix, label_separator
    formats = [RowFormat(find_format(path, file_format), *options) for path in files]
    opened = [_OpenedRows(*file, multilabel, encoding, errors) for file in zip(files, formats, strict=True)]
    return batches_of_rows(chain.from_iterable(opened), batch_size, "stream_labelled", multilabel=multilabel)


class _OpenedRows:
    """The rows of a file; warns at its end if rows were skipped."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        row_format: RowFormat,
        multilabel: bool | None,
        encoding: str,
        errors: Errors,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        check_errors(errors, get_args(Errors))
        self._path, self._n_skipped, self._first = path, 0, ""
        skip = errors == "skip"
        decoding = Decoding(encoding, "strict" if skip else errors)
        self.reader = open_rows(
            path, row_format, decoding, multilabel=multilabel, progress=progress, on_error=self._skip if skip else None
        )

    def __iter__(self) -> Iterator[Row]:
        yield from self.reader
        if self._n_skipped:
            rows = f"{self._n_skipped:,} {'row' if self._n_skipped == 1 else 'rows'}"
            warn_user(f"Skipped {rows} that cannot be read, the first of them: {self._first}")
        if self.reader.n_rejected:
            warn_user(rejected_message(self._path, self.reader.n_rejected))

    def _skip(self, error: ValueError) -> None:
        self._first = self._first or str(error)
        self._n_skipped += 1


def rejected_message(path: str | os.PathLike[str], n_rows: int) -> str:
    """Return a message for rows that an annotator has rejected."""
    return (
        f'{path}: skipped {n_rows:,} rows with "answer": "reject" or "ignore", which Prodigy writes if the label '
        "is wrong or undecided."
    )


def batches_of_rows(
    rows: Iterable[Row], batch_size: int, source: str, *, multilabel: bool
) -> Iterator[tuple[list[str], NDArray[np.str_] | list[list[str]]]]:
    """Yield the texts and labels of rows in batches."""
    rows = iter(rows)
    while batch := list(islice(rows, batch_size)):
        check_label_texts({label for row in batch for label in row.labels}, source)
        yield [row.text for row in batch], _as_labels((row.labels for row in batch), multilabel=multilabel)


def find_format(path: str | os.PathLike[str], file_format: str | None) -> str:
    """Return the format of a file, by its extension if it is not given, and check that the file exists."""
    path = Path(path)
    if str(path) == "-" and not path.exists():
        raise FileNotFoundError("There is no file '-'. To read stdin, pass /dev/stdin and a file_format (--format).")
    check_is_file(path, f"a file of labeled texts ({', '.join(FORMATS)})")
    if file_format is not None:
        return file_format
    extension = Path(name_inside(path)).suffix.lower()
    if extension not in FORMATS_BY_EXTENSION:
        raise ValueError(
            f"{path}: the format cannot be inferred from the file extension. Expected one of "
            f"{', '.join(FORMATS_BY_EXTENSION)} (.gz, .bz2, .xz or .zip may follow), or file_format (--format): one "
            f"of {', '.join(FORMATS)}."
        )
    return FORMATS_BY_EXTENSION[extension]


def open_rows(
    path: str | os.PathLike[str],
    row_format: RowFormat,
    decoding: Decoding,
    *,
    multilabel: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_error: Callable[[ValueError], None] | None = None,
) -> RowReader:
    """Return a reader of the rows of a file; ``on_error`` is called with the error of a row, which is skipped."""
    if on_error is not None:
        decoding = Decoding(decoding.encoding, "surrogateescape")
    lines = read_lines(Path(path), progress, decoding)
    return RowReader(lines, str(path), row_format, multilabel=multilabel, on_error=on_error)


def collect_rows(
    rows: Iterable[Row],
    reader: RowReader,
    path: str | os.PathLike[str],
    multilabel: bool | None = None,
    *,
    few_rows: bool = False,
) -> tuple[list[str], NDArray[np.str_] | list[list[str]]]:
    """Collect texts and labels, and check all labels; a file without rows or labels is an error."""
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    for row in rows:
        texts.append(row.text)
        labels.append(row.labels)
    all_labels = list(chain.from_iterable(labels))
    check_rows(path, reader, len(texts), set(all_labels), 0 if few_rows else len(all_labels))
    if multilabel is None:
        multilabel = any(len(names) != 1 for names in labels)
    return texts, _as_labels(labels, multilabel=multilabel)


def check_rows(
    path: str | os.PathLike[str], reader: RowReader, n_rows: int, labels: Collection[str], n_labels: int
) -> None:
    """Check the number of rows of a file and its different labels, of ``n_labels`` in all."""
    if not n_rows:
        raise ValueError(f"{path}: expected labeled texts, got a file without rows.")
    if not labels:
        raise ValueError(
            f"{path}: expected labeled texts, got no label in {n_rows} rows. Labels of fastText's format begin "
            "with label_prefix (--label-prefix)."
        )
    check_label_texts(labels, str(path))
    check_repeated(len(labels), n_labels, str(path), reader.guessed_column)


def _as_labels(labels: Iterable[tuple[str, ...]], *, multilabel: bool) -> NDArray[np.str_] | list[list[str]]:
    return [list(names) for names in labels] if multilabel else np.array([names[0] for names in labels])
