"""The running text of MediaWiki markup; the one file that imports mwparserfromhell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Set
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Text, Wikilink
from mwparserfromhell.parser import ParserError

# Tags whose content is no running text; that of all others is. A table or a list in wiki markup has the tag of HTML's.
_HIDDEN_TAGS = frozenset(
    {
        "categorytree",
        "ce",
        "chem",
        "dl",
        "gallery",
        "graph",
        "hiero",
        "imagemap",
        "includeonly",
        "indicator",
        "inputbox",
        "li",
        "mapframe",
        "maplink",
        "math",
        "ol",
        "pre",
        "ref",
        "references",
        "score",
        "script",
        "source",
        "style",
        "syntaxhighlight",
        "table",
        "templatedata",
        "templatestyles",
        "timeline",
        "ul",
    }
)
_BLOCK_TAGS = frozenset({"blockquote", "center", "div", "hr", "p", "poem"})

# The sign of a list in front of its line becomes NUL, which XML cannot have; the line is left out as a whole then.
_LIST_SIGNS, _NUL = frozenset("*#:;"), "\0"
_REMAINS_OF_TABLES = ("|", "!", "{|", "{{", "}}")

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?|simple")
_MEDIA_FILE = re.compile(r"\.(?:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm|mp3|wav|pdf|djvu)$", re.IGNORECASE)

_BOLD_OR_ITALIC = re.compile("''+")
# What the parser left as text, since it was never closed or is a word of MediaWiki's.
_REMAINS = re.compile(r"__[^\W\d_]+__|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|</?[A-Za-z][^<>]*>")
_EMPTY_BRACKET = re.compile(r" ?(?:\([ ,;:/–—-]*\)|（[ ,;:/，；、–—-]*）)")
_TOO_MUCH = re.compile(r" (?=[,;]|\.(?: |$))|(?<=\()[ ,;]+|[ ,;]+(?=\))")
_ANY_WORD = re.compile(r"\w")


def plain_paragraphs(wikitext: str, hidden: Set[str]) -> list[str]:
    """Return the paragraphs of running text in a page."""
    try:
        code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    except ParserError as error:
        raise ValueError(f"mwparserfromhell cannot parse the markup ({error})") from error
    paragraphs: list[str] = []
    block: list[str] = []
    for line in [*"".join(_visible(code, hidden)).split("\n"), ""]:
        if line.strip() and _NUL not in line and not line.lstrip().startswith(_REMAINS_OF_TABLES):
            block.append(line)
        else:
            paragraphs.append(_tidy(" ".join(block)))
            block = []
    return [paragraph for paragraph in paragraphs if _ANY_WORD.search(paragraph)]


def _visible(code: Any, hidden: Set[str]) -> Iterator[str]:
    """Yield the text to read, with line breaks where paragraphs end; templates, headings and comments have none."""
    for node in code.nodes:
        if isinstance(node, Text):
            yield node.value
        elif isinstance(node, HTMLEntity):
            yield html.unescape(str(node))
        elif isinstance(node, Wikilink):
            yield _link_text(node, hidden)
        elif isinstance(node, ExternalLink):
            if node.title is not None:
                yield from _visible(node.title, hidden)
        elif isinstance(node, Tag):
            yield from _tag_text(node, hidden)


def _tag_text(tag: Any, hidden: Set[str]) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if tag.wiki_markup in _LIST_SIGNS:
        yield _NUL
    elif name in _BLOCK_TAGS:
        yield "\n\n"
        if tag.contents is not None:
            yield from _visible(tag.contents, hidden)
        yield "\n\n"
    elif name == "br":
        yield " "
    elif name not in _HIDDEN_TAGS and tag.contents is not None:
        yield from _visible(tag.contents, hidden)


def _link_text(link: Any, hidden: Set[str]) -> str:
    namespace, colon, page = (part.strip() for part in str(link.title).partition(":"))
    if namespace and colon:
        to_language = link.text is None and _LANGUAGE.fullmatch(namespace)
        if namespace.replace("_", " ").lower() in hidden or _MEDIA_FILE.search(page) or to_language:
            return ""
    text = "".join(_visible(link.title if link.text is None else link.text, hidden))
    return text.lstrip(":") if link.text is None else text


def _tidy(paragraph: str) -> str:
    text = " ".join(_REMAINS.sub(" ", _BOLD_OR_ITALIC.sub("", paragraph)).split())
    return _TOO_MUCH.sub("", " ".join(_EMPTY_BRACKET.sub("", text).split()))
