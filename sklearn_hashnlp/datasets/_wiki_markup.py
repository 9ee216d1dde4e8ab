"""Running text of MediaWiki markup; the only module that imports mwparserfromhell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Set
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Text, Wikilink
from mwparserfromhell.parser import ParserError

# Tags without running text. The parser names tables and lists in wiki markup like the HTML tag.
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

# A list marker is replaced by NUL, which cannot occur in XML; the whole line is then skipped.
_LIST_MARKERS, _NUL = frozenset("*#:;"), "\0"
_TABLE_FRAGMENTS = ("|", "!", "{|", "{{", "}}")

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?|simple")
_MEDIA_FILE = re.compile(
    r"\.(?:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm|mp3|wav|pdf|djvu)$", re.IGNORECASE
)

_BOLD_OR_ITALIC = re.compile("''+")
# Markup that the parser leaves as text: unclosed tags and magic words of MediaWiki.
_LEFTOVER_MARKUP = re.compile(r"__[^\W\d_]+__|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|</?[A-Za-z][^<>]*>")
_EMPTY_BRACKETS = re.compile(r" ?(?:\([ ,;:/–—-]*\)|（[ ,;:/，；、–—-]*）)")
_STRAY_PUNCTUATION = re.compile(r" (?=[,;]|\.(?: |$))|(?<=\()[ ,;]+|[ ,;]+(?=\))")
_ANY_WORD = re.compile(r"\w")


def plain_paragraphs(wikitext: str, hidden: Set[str]) -> list[str]:
    """Return the paragraphs of running text in a page, without links to ``hidden`` namespaces."""
    try:
        code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    except ParserError as error:
        raise ValueError(f"mwparserfromhell cannot parse the markup ({error})") from error
    paragraphs: list[str] = []
    block: list[str] = []
    for line in [*"".join(_visible(code, hidden)).split("\n"), ""]:
        if line.strip() and _NUL not in line and not line.lstrip().startswith(_TABLE_FRAGMENTS):
            block.append(line)
        else:
            text = _LEFTOVER_MARKUP.sub(" ", _BOLD_OR_ITALIC.sub("", " ".join(block)))
            text = _EMPTY_BRACKETS.sub("", " ".join(text.split()))
            paragraphs.append(_STRAY_PUNCTUATION.sub("", " ".join(text.split())))
            block = []
    return [paragraph for paragraph in paragraphs if _ANY_WORD.search(paragraph)]


def _visible(code: Any, hidden: Set[str]) -> Iterator[str]:
    """Yield visible text with paragraph breaks, without templates, headings and comments."""
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
    if tag.wiki_markup in _LIST_MARKERS:
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
        is_language_link = link.text is None and _LANGUAGE.fullmatch(namespace)
        if (
            namespace.replace("_", " ").lower() in hidden
            or _MEDIA_FILE.search(page)
            or is_language_link
        ):
            return ""
    text = "".join(_visible(link.title if link.text is None else link.text, hidden))
    return text.lstrip(":") if link.text is None else text
