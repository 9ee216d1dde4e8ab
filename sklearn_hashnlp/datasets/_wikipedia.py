"""Paragraphs of the articles in a Wikipedia dump."""

from __future__ import annotations

import os
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from sklearn_hashnlp._text_files import DECOMPRESSION_ERRORS, check_is_file, decompress

# Links to pages in these namespaces have no text. A dump has localized names, but the numbers are
# the same in every language.
_HIDDEN_NAMESPACES = frozenset({"file", "image", "category"})
_HIDDEN_NAMESPACE_NUMBERS = frozenset({"6", "14"})

# Old dumps have no <redirect> element; their redirects start with #REDIRECT [[Cat]] in any
# language.
_REDIRECT = re.compile(r"\s*#\w+\s*:?\s*\[\[")


def stream_wikipedia(dump: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the paragraphs of the articles in a Wikipedia dump, without markup.

    Read the ``pages-articles`` dumps of Wikipedia in any language, and of other MediaWiki sites.
    The running text is kept, including the text of links and in bold. Redirects and pages that are
    not articles are skipped, and in articles templates, tables, lists, headings, references,
    formulas, images with their captions, categories, comments, bare URLs, all tags, and brackets
    that become empty. Only one page is in memory at a time.

    Needs mwparserfromhell: ``pip install mwparserfromhell``.

    Parameters
    ----------
    dump : str or path-like
        The dump: ``.xml``, or compressed as ``.xml.bz2``, ``.xml.gz``, ``.xml.xz`` or ``.xml.zip``.

    Yields
    ------
    str
        The next paragraph, in the order of the dump: one line, words separated by single spaces,
        never empty.

    Warns
    -----
    UserWarning
        If the markup of an article cannot be parsed. The article is skipped.

    See Also
    --------
    stream_paragraphs : Yield the paragraphs of text files.
    sklearn_hashnlp.text.split_sentences : Split a paragraph into sentences.

    References
    ----------
    .. [1] https://dumps.wikimedia.org
    .. [2] https://www.mediawiki.org/wiki/Help:Export
    .. [3] https://mwparserfromhell.readthedocs.io

    Examples
    --------
    >>> import bz2, pathlib, tempfile
    >>> from sklearn_hashnlp.datasets import stream_wikipedia
    >>> folder = tempfile.TemporaryDirectory()
    >>> dump = pathlib.Path(folder.name) / "pages-articles.xml.bz2"
    >>> _ = dump.write_bytes(bz2.compress(b'''<mediawiki>
    ...   <page><title>Cat</title><ns>0</ns><revision><text>
    ... A ''cat'' is a [[pet]].{{citation needed}}
    ...
    ... == Life ==
    ... It [[sleep]]s.</text></revision></page>
    ...   <page><title>Talk:Cat</title><ns>1</ns><revision>
    ...     <text>Is it?</text></revision></page>
    ... </mediawiki>'''))
    >>> list(stream_wikipedia(dump))
    ['A cat is a pet.', 'It sleeps.']
    >>> folder.cleanup()
    """
    if find_spec("mwparserfromhell") is None:
        raise ImportError(
            "stream_wikipedia needs mwparserfromhell. Install it with: pip install mwparserfromhell"
        )
    path = Path(dump)
    check_is_file(path, "a dump, such as enwiki-latest-pages-articles.xml.bz2")
    return _paragraphs(path)


def _paragraphs(path: Path) -> Iterator[str]:
    # mwparserfromhell may be missing
    from sklearn_hashnlp.datasets._wiki_markup import plain_paragraphs

    for title, wikitext, hidden in _articles(path):
        try:
            paragraphs = plain_paragraphs(wikitext, hidden)
        except ValueError as error:
            warnings.warn(
                f"{path}: the article {title!r} is skipped: {error}.", UserWarning, stacklevel=2
            )
        else:
            yield from paragraphs


def _articles(path: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield title and markup of articles, and lowercase names of namespaces without link text."""
    hidden = _HIDDEN_NAMESPACES
    root: ET.Element | None = None
    with ExitStack() as stack:
        stored = stack.enter_context(path.open("rb"))
        stream = stack.enter_context(decompress(stored, path))
        for event, element in _events(stream, path):
            name = element.tag.rpartition("}")[2]
            if root is None:
                root = element
                if name != "mediawiki":
                    raise ValueError(
                        f"{path}: expected a MediaWiki dump, which begins with <mediawiki>, got "
                        f"<{name}>."
                    )
            elif (
                event == "end"
                and name == "namespace"
                and element.get("key") in _HIDDEN_NAMESPACE_NUMBERS
                and element.text
            ):
                hidden = hidden | {element.text.lower()}
            elif event == "end" and name == "page":
                wikitext = element.findtext("{*}revision/{*}text", "")
                if (
                    element.findtext("{*}ns", "0") == "0"
                    and element.find("{*}redirect") is None
                    and element.findtext("{*}revision/{*}model", "wikitext") == "wikitext"
                    and not _REDIRECT.match(wikitext)
                ):
                    yield element.findtext("{*}title", ""), wikitext, hidden
                root.clear()  # otherwise the tree grows to the size of the dump


def _events(stream: IO[bytes], path: Path) -> Iterator[tuple[str, ET.Element]]:
    try:
        yield from ET.iterparse(stream, events=("start", "end"))
    except ET.ParseError as error:
        raise ValueError(
            f"{path}: expected the XML of a MediaWiki dump; the file is not XML, or truncated "
            f"({error})."
        ) from error
    except DECOMPRESSION_ERRORS as error:
        raise ValueError(f"{path}: the file is damaged or truncated ({error}).") from error
