"""Paragraphs of text files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from sklearn_hashnlp._text_files import UTF_8, Decoding, check_errors, check_is_file, read_lines

Paragraph: TypeAlias = Literal["line", "block"]

_IN_FIT = Decoding(
    advice="For a file in another encoding, such as 'cp1252', pass "
    "datasets.stream_paragraphs(path, encoding='cp1252') instead of the path; errors='replace' "
    "reads such bytes as U+FFFD."
)


def stream_paragraphs(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    paragraph: Paragraph = "line",
    encoding: str = "utf-8",
    errors: Literal["strict", "replace"] = "strict",
) -> Iterator[str]:
    r"""Yield the paragraphs of text files, one at a time.

    Files compressed as ``.gz``, ``.bz2``, ``.xz`` or ``.zip`` are decompressed. Only one paragraph
    is in memory at a time.

    Parameters
    ----------
    paths : str, path-like, or iterable of them
        The files, read in this order.
    paragraph : {"line", "block"}, default="line"
        ``"line"``: every line that is not blank is a paragraph. ``"block"``: consecutive lines up
        to a blank line, as in files with one sentence per line.
    encoding : str, default="utf-8"
        The encoding of the files, such as ``"cp1252"`` or ``"utf-16"``. A byte order mark is
        skipped.
    errors : {"strict", "replace"}, default="strict"
        Bytes that are not in the encoding: an error, or the replacement character U+FFFD.

    Yields
    ------
    str
        The next paragraph, stripped and never empty; the lines of a block are joined by ``"\n"``.

    Raises
    ------
    OSError
        If a file cannot be opened, for example ``FileNotFoundError``.
    ValueError
        If a file is damaged, is in another encoding, or is a dump of Wikipedia; the message
        contains the file and the line.

    See Also
    --------
    stream_wikipedia : Yield the paragraphs of a dump of Wikipedia.

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
            f"stream_paragraphs: paragraph must be one of {', '.join(map(repr, choices))}. Got "
            f"{paragraph!r}."
        )
    files = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not files:
        raise ValueError(
            "stream_paragraphs expected one or more files, got none. Does a file pattern match "
            "nothing?"
        )
    for path in files:
        check_is_file(path, "a text file. Pass its files, for example from Path.glob")
    check_errors(errors, ("strict", "replace"))
    decoding = Decoding(encoding, errors)
    read = lines_with_text if paragraph == "line" else _blocks
    return (text for path in files for text in read(path, decoding))


def corpus_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that was passed to ``fit``, without blank ones."""
    check_is_file(path, "a text file")
    return lines_with_text(path, _IN_FIT)


def lines_with_text(path: Path, decoding: Decoding = UTF_8) -> Iterator[str]:
    """Yield the lines of a text file, stripped, without blank ones."""
    return filter(None, _stripped_lines(path, decoding))


def _stripped_lines(path: Path, decoding: Decoding) -> Iterator[str]:
    for number, line in enumerate(read_lines(path, decoding=decoding), start=1):
        stripped = line.strip()
        # It is the second line after <?xml ...?>, and the first without that.
        if number <= 2 and stripped.startswith("<mediawiki"):
            raise ValueError(
                f"{path}, line {number}: expected plain text, got a dump of Wikipedia. Read its "
                "paragraphs with datasets.stream_wikipedia(path); hashnlp sentences train reads "
                "dumps named .xml."
            )
        yield stripped


def _blocks(path: Path, decoding: Decoding) -> Iterator[str]:
    block: list[str] = []
    for line in _stripped_lines(path, decoding):
        if line:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)
