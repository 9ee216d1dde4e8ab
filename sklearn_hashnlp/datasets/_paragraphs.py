"""Paragraphs of text files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from sklearn_hashnlp._text_files import check_is_file, read_lines

Paragraph: TypeAlias = Literal["line", "block"]


def stream_paragraphs(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, paragraph: Paragraph = "line"
) -> Iterator[str]:
    r"""Yield the paragraphs of text files, one at a time.

    Files are UTF-8; ``.gz``, ``.bz2``, ``.xz`` and ``.zip`` files are decompressed. Only one paragraph is in memory at
    a time.

    Parameters
    ----------
    paths : str, path-like, or iterable of them
        The files, read in this order.
    paragraph : {"line", "block"}, default="line"
        ``"line"``: every line that is not blank is a paragraph. ``"block"``: consecutive lines up to a blank line, as
        in files with one sentence per line.

    Yields
    ------
    str
        The next paragraph, stripped and never empty; the lines of a block are joined by ``"\n"``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_hashnlp.datasets import stream_paragraphs
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "articles.txt"
    >>> _ = path.write_text(
    ...     "Cats purr.\nThey sleep.\n\nDogs bark.\n", encoding="utf-8"
    ... )
    >>> list(stream_paragraphs(path))
    ['Cats purr.', 'They sleep.', 'Dogs bark.']
    >>> folder.cleanup()
    """
    choices = get_args(Paragraph)
    if paragraph not in choices:
        raise ValueError(
            f"stream_paragraphs: paragraph must be one of {', '.join(map(repr, choices))}. Got {paragraph!r}."
        )
    files = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not files:
        raise ValueError("stream_paragraphs expected one or more files, got none. Does a file pattern match nothing?")
    for path in files:
        check_is_file(path, "a text file. Pass its files, for example from Path.glob")
    read = _lines_with_text if paragraph == "line" else _blocks
    return (text for path in files for text in read(path))


def _lines_with_text(path: Path) -> Iterator[str]:
    return filter(None, map(str.strip, read_lines(path)))


def _blocks(path: Path) -> Iterator[str]:
    block: list[str] = []
    for line in map(str.strip, read_lines(path)):
        if line:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)
