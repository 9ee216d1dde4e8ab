"""Generated pages of the site, and links of the others that lead out of ``docs``."""

from __future__ import annotations

import re
import shutil
import textwrap
from html import escape
from pathlib import Path
from typing import Any

import names
import reference_pages

ROOT = Path(__file__).parents[2]

PROJECT_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASING.md": "releasing.md",
    "CONVENTIONS.md": "conventions.md",
    "SECURITY.md": "security_policy.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "benchmarks/results/README.md": "results.md",
}
"""Files outside of ``docs`` that are pages of the site, in the folder ``generated``."""

BUILT_PAGES = {"examples": "gallery/index.rst", "sklearn_hashnlp": "api/index.rst"}
"""Folders that have pages of the site, which a clone does not have -> the first of these pages."""

_REMOTE = re.compile(
    r'<(?:script|img|iframe)\b[^>]*\bsrc="(?:https?:)?//[^>]*>|<link\b[^>]*\bhref="(?:https?:)?//[^>]*>'
)
_TAG_OR_LONG_WORD = re.compile(r"<(pre|script|style)\b.*?</\1>|<[^>]*>|[^<>\s]{25,}", re.DOTALL)
_BREAK = re.compile(r"(?<=[/_.:(=,])(?=[^\W_])")
_TITLE, _NEW_WORD = re.compile(r"(?<=<h1>)[^<]+"), re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_PAREN = r'(<span class="sig-paren">\{}</span>)'
_SIGNATURE = re.compile(
    _PAREN.format("(") + r"\s*<dl>(.*?)</dl>\s*" + _PAREN.format(")"), re.DOTALL
)
_THUMBNAIL = re.compile(r'(tooltip="([^"]*)">\s*<img alt=)""')
_PLOT = re.compile(r'<img [^>]*"sphx-glr-single-img"/>')
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def write(docs: Path) -> None:
    """Write the pages that are made from the package and from the project's files."""
    generated = docs / "generated"
    write_folder(docs / "api", reference_pages.pages())
    write_folder(
        generated,
        {name: _project_page(ROOT / source, generated) for source, name in PROJECT_PAGES.items()},
    )


def forget_other_examples(gallery: Path, *, quick: bool) -> None:
    """Remove the gallery if its examples ran on less data and should not now, or vice versa."""
    stamp, kind = gallery / "kind.txt", "quick" if quick else "whole"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != kind:
        shutil.rmtree(gallery, ignore_errors=True)
        gallery.mkdir()
        stamp.write_text(kind, encoding="utf-8")


def refuse_remote_files(app: Any, error: Exception | None) -> None:
    """Fail if a page loads a remote script, style or picture; called by Sphinx at the end."""
    for page in [] if error else sorted(Path(app.outdir).rglob("*.html")):
        found = _REMOTE.search(page.read_text(encoding="utf-8"))
        if found:
            raise ValueError(f"{page} cannot be read offline, because of {found[0]}")


def fit_to_small_screens(
    _app: Any, _name: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Let long paths, calls and titles wrap, and plots scroll sideways; called by Sphinx."""
    if "body" in context:
        body = _TAG_OR_LONG_WORD.sub(lambda match: _breakable(match[0]), context["body"])
        body = _TITLE.sub(lambda match: _NEW_WORD.sub("<wbr>", match[0]), body)
        body = _THUMBNAIL.sub(r'\1"\2"', body)
        context["body"] = _PLOT.sub(r"<p>\g<0></p>", body)


def fold_signatures(
    _app: Any, _name: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Fold the parameters of a signature that takes several lines; called by Sphinx."""
    if "body" in context:
        context["body"] = _SIGNATURE.sub(_folded, context["body"])


def _folded(match: re.Match[str]) -> str:
    summary = f"{match[2].count('<dd>')} parameters"
    folded = (
        f'<details class="parameters"><summary>{summary}{match[3]}</summary>'
        f"<dl>{match[2]}</dl></details>"
    )
    return match[1] + folded


def describe(_app: Any, _name: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Describe a page for search engines by its first paragraph; called by Sphinx."""
    from docutils import nodes  # comes with Sphinx, which the tests do without

    paragraphs = [] if doctree is None else list(doctree.findall(nodes.paragraph))
    texts = [
        " ".join(paragraph.astext().split())
        for paragraph in paragraphs
        if paragraph.parent.tagname != "entry"
    ]
    long = [
        text
        for text in texts
        if len(text) > 40 and not text.startswith(("Read more in", "Go to the end"))
    ]
    if long:
        text = textwrap.shorten(long[0], 160, placeholder=" ...")
        context["metatags"] = (
            context.get("metatags", "") + f'<meta name="description" content="{escape(text)}" />'
        )


def _breakable(word: str) -> str:
    """Return a word with places for line breaks; tags stay as they are."""
    return word if word.startswith("<") else _BREAK.sub("<wbr>", word)


def write_folder(folder: Path, pages: dict[str, str]) -> None:
    """Write pages and remove others; equal files are left alone, which shortens a rebuild."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.*"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _project_page(source: Path, folder: Path) -> str:
    return names.link_names(
        with_site_links(source.read_text(encoding="utf-8"), source.parent, folder)
    )


def point_links(app: Any, name: str, source: list[str]) -> None:
    """Point links of a Markdown page that leave ``docs`` at pages of the site; called by Sphinx."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md":
        if path.parent == Path(app.srcdir):
            source[0] = names.link_names(with_site_links(source[0], path.parent, path.parent))
        # doctest needs the empty line, readers do not
        source[0] = source[0].replace("\n\n```\n", "\n```\n")


def with_site_links(text: str, folder: Path, page_folder: Path) -> str:
    """Return a folder's Markdown text with links as on the site, for a page in another folder.

    Files that the site does not have, such as scripts of benchmarks, are named, not linked.
    """
    parts = names.FENCED.split(text)
    parts[::2] = [
        _LINK.sub(lambda match: _site_link(match, folder, page_folder), part) for part in parts[::2]
    ]
    return "".join(parts)


def _site_link(match: re.Match[str], folder: Path, page_folder: Path) -> str:
    label = match[1]
    target = (folder / match[2]).resolve()
    anchor = match[3] or ""
    up = "../" * len(page_folder.relative_to(ROOT / "docs").parts)
    name = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
    if name == "README.md":
        return f"[{label}]({up}index.md)"
    if name in PROJECT_PAGES:
        return f"[{label}]({up}generated/{PROJECT_PAGES[name]}{anchor})"
    if name in BUILT_PAGES:
        return f"[{label}]({up}{BUILT_PAGES[name]})"
    if name.startswith("docs/"):
        return f"[{label}]({up}{name.removeprefix('docs/')}{anchor})"
    if name.startswith("examples/") and name.endswith(".py"):
        return f"[{label}]({up}gallery/{name.removeprefix('examples/').removesuffix('.py')}.rst)"
    return label
