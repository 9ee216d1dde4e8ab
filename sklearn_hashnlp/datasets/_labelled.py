"""Labeled texts from a CSV, TSV, JSON lines or fastText file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._text_files import (
    Decoding,
    check_errors,
    check_is_file,
    name_inside,
    read_lines,
)
from sklearn_hashnlp.datasets._label_checks import (
    check_label_texts,
    check_repeated,
    warn_of_twins,
    warn_user,
)
from sklearn_hashnlp.datasets._row_formats import (
    FASTTEXT_PREFIX,
    FORMATS,
    FORMATS_BY_EXTENSION,
    Columns,
    RowFormat,
    format_of_name,
)
from sklearn_hashnlp.datasets._row_reader import Row, RowReader

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
    classes: Collection[Any] | None = None,
    return_X_y: bool = True,
) -> tuple[list[str], Any] | Any:  # labels are an array or lists; or a Bunch
    r"""Load texts and their labels from a CSV, TSV, JSON lines or fastText file.

    The format is inferred from the file extension: ``.csv``; ``.tsv``, ``.tab``; ``.jsonl``,
    ``.ndjson``, ``.json``; ``.txt``, ``.ft``, ``.fasttext``, ``.train``, ``.valid``, ``.test``.
    Files compressed as ``.gz``, ``.bz2``, ``.xz`` or ``.zip`` are decompressed. Blank lines are
    skipped, whitespace around labels is stripped, texts are not changed; a text may be empty. Rows
    of JSON lines with ``"answer": "reject"`` or ``"ignore"``, as Prodigy writes them, are skipped.

    Parameters
    ----------
    path : str or path-like
        The file. It may be a pipe, but then not a zip archive, and ``file_format`` must be given.
    file_format : {"csv", "tsv", "jsonl", "fasttext"}, default=None
        The format; by default inferred from the file extension.
    text_column, label_column : str, default=None
        The columns (keys of JSON lines) to read. By default the first column with a common name, in
        upper or lower case: ``text``, ``sentence``, ``document``, ... and ``label``, ``class``,
        ``category``, ... In a file with two columns, one of them suffices. A first line of a class
        number and text, as in the data sets of Zhang, Zhao and LeCun, is not a header: the number
        is the label, and the other fields are joined by spaces. Must be ``None`` for a fastText
        file, which has no columns.
    quoted : bool, default=True
        Whether quotes enclose fields of CSV and TSV. With ``False`` a quote is an ordinary
        character, as in many TSV files.
    delimiter : str, default=None
        Character between the fields of CSV and TSV, such as ``";"``. By default the character of a
        first line such as ``sep=;``, which Excel writes, or else a comma, and a tab for TSV.
    escapechar : str, default=None
        Character of CSV and TSV before a quote, a delimiter or a line break that belongs to the
        text, such as ``"\\"`` in files of Spark and MySQL. By default a quote in a quoted field is
        written twice.
    label_prefix : str, default="__label__"
        Prefix of the labels of a fastText file. Every word of a line with this prefix is a label
        and not a word of the text.
    label_separator : str, default=None
        Separator of multiple labels in a field of CSV, TSV or JSON lines, such as ``","``; an empty
        field then has no label. By default a field is one label. A list in JSON lines is always a
        list of labels.
    multilabel : bool, default=None
        Whether texts may have any number of labels, so that ``labels`` is a list of lists.
        ``False``: exactly one label. By default ``labels`` is a list of lists if any text does not
        have exactly one label.
    encoding : str, default="utf-8"
        The encoding of the file, such as ``"cp1252"`` or ``"utf-16"``. A byte order mark is
        skipped.
    errors : {"strict", "replace", "skip"}, default="strict"
        Bytes that are not in the encoding: an error, or the replacement character U+FFFD.
        ``"skip"`` excludes rows with such bytes, and all others that cannot be read, with a
        warning.
    progress : callable, default=None
        Called every 1000 lines with the number of bytes read and the file size; not for a pipe.
    classes : collection of labels, default=None
        The labels that a model knows, for a file to test it on: labels that look like one of them
        are a warning, and nearly all rows may have different labels.
    return_X_y : bool, default=True
        False returns a :class:`~sklearn.utils.Bunch`.

    Returns
    -------
    texts : list of str
        The texts, in the order of the file.
    labels : ndarray of shape (n_texts,), dtype str, or list of list of str
        Their labels; for multilabel data the list of labels of each text, without duplicates.
        Numbers and booleans of JSON lines are written as in JSON.
    data : :class:`~sklearn.utils.Bunch`
        If ``return_X_y=False``: the texts as ``data``, the labels as ``target``, ``lines``, the
        number of the first line of each text, and ``text_column`` and ``label_column``, the names
        of the columns; None in a fastText file.

    Raises
    ------
    OSError
        If the file cannot be opened, for example ``FileNotFoundError``.
    ValueError
        If the file cannot be read as expected; the message contains the file and the line. Also if
        labels are lists written as text or have the replacement character U+FFFD, or if nearly all
        rows have different labels in a column without a usual name.

    Warns
    -----
    UserWarning
        If rows are skipped, if nearly all rows have different labels, or if labels differ in
        invisible characters only.

    See Also
    --------
    stream_labelled : Read files of any size in batches.
    load_stdlib_docstrings : Load real labeled texts without a file.

    Notes
    -----
    Reading CSV or TSV raises :func:`csv.field_size_limit` of the process, so that a text may have
    any length.

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
    row_format = RowFormat(_find_format(path, file_format), columns, *options)
    opened = _OpenedRows(path, row_format, multilabel, encoding, errors, progress)
    rows = list(opened)
    names = [name for row in rows for name in row.labels]
    n_checked = len(names) if classes is None else 0
    _check_rows(path, opened.reader, len(rows), set(names), n_checked)
    warn_of_twins(set(names).union(map(str, () if classes is None else classes)), str(path))
    if multilabel is None:
        multilabel = any(len(row.labels) != 1 for row in rows)
    texts = [row.text for row in rows]
    labels = _as_labels((row.labels for row in rows), multilabel=multilabel)
    if return_X_y:
        return texts, labels
    from sklearn.utils import Bunch

    lines, (text_column, label_column) = [row.line for row in rows], opened.reader.columns
    return Bunch(
        data=texts, target=labels, lines=lines, text_column=text_column, label_column=label_column
    )


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
    multilabel: bool | None = False,
    encoding: str = "utf-8",
    errors: Errors = "strict",
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[list[str], NDArray[np.str_] | list[list[str]]]]:
    r"""Read the texts and labels of files of any size, in batches, for ``partial_fit``.

    Only one batch is in memory.

    Parameters
    ----------
    paths : str, path-like, or iterable of str or path-like
        The file, as in :func:`load_labelled`, or several files, which are read in their order and
        must exist. A file is opened when its first row is read. A batch may have rows of several
        files.
    batch_size : int, default=10000
        Number of texts per batch; the last one may have fewer.
    file_format, text_column, label_column, quoted, delimiter, escapechar, label_prefix,
    label_separator
        As in :func:`load_labelled`.
    multilabel : bool or None, default=False
        Whether the labels of a batch are a list of the labels of each text. With ``False`` a text
        must have exactly one label. ``None`` is ``True``, but a line of a fastText file must have
        a label, as in :func:`load_labelled`.
    encoding, errors
        As in :func:`load_labelled`.
    progress : callable, default=None
        As in :func:`load_labelled`, for each file.

    Yields
    ------
    texts : list of str
        The texts of a batch.
    labels : ndarray of shape (n_texts,), dtype str, or list of list of str
        Their labels.

    Raises
    ------
    OSError, ValueError
        As in :func:`load_labelled`. Whether labels repeat is checked in the first batch.

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
    options = (
        Columns(text_column, label_column),
        delimiter,
        quoted,
        escapechar,
        label_prefix,
        label_separator,
    )
    formats = [RowFormat(_find_format(path, file_format), *options) for path in files]
    opened = [
        _OpenedRows(path, row_format, multilabel, encoding, errors, progress)
        for path, row_format in zip(files, formats, strict=True)
    ]
    return _batches(opened, batch_size, multilabel=multilabel is not False)


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
        self.path = path
        self._n_skipped = 0
        self._first = ""
        skip = errors == "skip"
        decoding = Decoding(encoding, "surrogateescape" if skip else errors)
        lines, on_error = read_lines(Path(path), progress, decoding), self._skip if skip else None
        self.reader = RowReader(
            lines, str(path), row_format, multilabel=multilabel, on_error=on_error
        )

    def __iter__(self) -> Iterator[Row]:
        yield from self.reader
        if self._n_skipped:
            rows = f"{self._n_skipped:,} {'row' if self._n_skipped == 1 else 'rows'}"
            warn_user(f"Skipped {rows} that cannot be read, the first of them: {self._first}")
        if self.reader.n_rejected:
            warn_user(
                f'{self.path}: skipped {self.reader.n_rejected:,} rows with "answer": "reject" or '
                '"ignore", which Prodigy writes if the label is wrong or undecided.'
            )

    def _skip(self, error: ValueError) -> None:
        self._first = self._first or str(error)
        self._n_skipped += 1


def _batches(
    files: list[_OpenedRows], batch_size: int, *, multilabel: bool
) -> Iterator[tuple[list[str], NDArray[np.str_] | list[list[str]]]]:
    """Yield the texts and labels of files in batches."""
    rows = chain.from_iterable(files)
    n_rows = 0
    n_labels = 0
    source = files[0].path if len(files) == 1 else "stream_labelled"
    while batch := list(islice(rows, batch_size)):
        names = [name for row in batch for name in row.labels]
        check_label_texts(set(names), str(source))
        if not n_rows:
            check_repeated(len(set(names)), len(names), str(source), files[0].reader.guessed_column)
        n_rows, n_labels = n_rows + len(batch), n_labels + len(names)
        yield (
            [row.text for row in batch],
            _as_labels((row.labels for row in batch), multilabel=multilabel),
        )
    _check_not_empty(source, n_rows, n_labels)


def _find_format(path: str | os.PathLike[str], file_format: str | None) -> str:
    """Return the format of a file, by default by its extension, and check that the file exists."""
    path = Path(path)
    if str(path) == "-" and not path.exists():
        raise FileNotFoundError(
            "There is no file '-'. To read stdin, pass /dev/stdin and a file_format (--format)."
        )
    check_is_file(path, f"a file of labeled texts ({', '.join(FORMATS)})")
    if file_format is not None:
        return file_format
    named = format_of_name(name_inside(path))
    if named is None:
        raise ValueError(
            f"{path}: the format cannot be inferred from the file extension. Expected one of "
            f"{', '.join(FORMATS_BY_EXTENSION)} (.gz, .bz2, .xz or .zip may follow), or "
            f"file_format (--format): one of {', '.join(FORMATS)}."
        )
    return named


def _check_rows(
    path: str | os.PathLike[str],
    reader: RowReader,
    n_rows: int,
    labels: Collection[str],
    n_labels: int,
) -> None:
    """Check the number of rows of a file and its different labels, of ``n_labels`` in all."""
    _check_not_empty(path, n_rows, len(labels))
    check_label_texts(labels, str(path))
    check_repeated(len(labels), n_labels, str(path), reader.guessed_column)


def _check_not_empty(source: str | os.PathLike[str], n_rows: int, n_labels: int) -> None:
    if not n_rows:
        raise ValueError(f"{source}: expected labeled texts, got a file without rows.")
    if not n_labels:
        raise ValueError(
            f"{source}: expected labeled texts, got no label in {n_rows} rows. Labels of "
            "fastText's format begin with label_prefix (--label-prefix)."
        )


def _as_labels(
    labels: Iterable[tuple[str, ...]], *, multilabel: bool
) -> NDArray[np.str_] | list[list[str]]:
    return (
        [list(names) for names in labels]
        if multilabel
        else np.array([names[0] for names in labels])
    )
