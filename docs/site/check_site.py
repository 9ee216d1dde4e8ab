"""Count what a page of the site must not lack; ``make docs`` runs this on the built site."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote

_TAG = re.compile(r"<[^>]*>")
_BODY = re.compile(r'<article class="bd-article">(.*?)</article>', re.DOTALL)
_CODE = re.compile(
    r'<div class="highlight-(?!none)[^>]*><div class="highlight"><pre>(.*?)</pre>', re.DOTALL
)
_PICTURE = re.compile(r"<img\b[^>]*>|<svg\b[^>]*>")
_ALT = re.compile(r'\b(alt|aria-label)="[^"]+"')
_WIDTH = 80
_NO_PICTURE = {
    "index",
    "contents",
    "getting_started",
    "user_guide",
    "more",
    "genindex",
    "search",
    "py-modindex",
}
"""Pages that are lists of links or made by Sphinx."""

Found = dict[str, list[str]]


def check(site: Path) -> Found:
    """Return what was found wrong, by kind."""
    pages = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }
    found: Found = {
        kind: []
        for kind in (
            "chapters without a link to the reference",
            "reference pages without a link to the guide",
            f"code lines over {_WIDTH} columns",
            "chapters without a picture",
            "reference pages of functions and classes without Parameters",
            "images without alt text",
            "dead links",
        )
    }
    chapters, reference, columns, pictures, parameters, alt, dead = found.values()
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        body = "".join(_BODY.findall(text))
        is_chapter = "/" not in name and name.removesuffix(".html") not in _NO_PICTURE
        if is_chapter and "api/sklearn_hashnlp." not in body:
            chapters.append(name)
        if is_chapter and not _PICTURE.search(body):
            pictures.append(name)
        if re.match(r"api/sklearn_hashnlp\.\w+\.\w+\.html", name):
            if "Read more in the User Guide" not in body:
                reference.append(name)
            if re.search(r'<dl class="py (class|function)">', body) and not _has_parameters(body):
                parameters.append(name)
        if not name.startswith("_modules/"):
            columns += [f"{name}: {line}" for line in _code_lines(body) if len(line) > _WIDTH]
        alt += [f"{name}: {tag}" for tag in _PICTURE.findall(body) if not _ALT.search(tag)]
        links = re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text)
        dead += [f"{name}: {link}" for link in links if _is_dead(link, name, site, anchors)]
    return found


def _has_parameters(body: str) -> bool:
    """Return whether there is a section of parameters, or nothing that could be in it."""
    own = re.split(r'<dl class="py (?:method|attribute|property)">', body)[0]
    signature = "".join(
        _TAG.sub("", "".join(re.findall(r'<dt class="sig.*?</dt>', own, re.DOTALL)[:1])).split()
    )
    return "Parameters" in own or signature.partition("[source]")[0].endswith(
        ("()", "(*args,**kwargs)")
    )


def _code_lines(body: str) -> list[str]:
    return [
        line
        for block in _CODE.findall(body)
        for line in html.unescape(_TAG.sub("", block)).splitlines()
    ]


def _is_dead(link: str, page: str, site: Path, anchors: dict[str, set[str]]) -> bool:
    """Return whether a link within the site leads nowhere; other addresses are not looked up."""
    if re.match(r"[a-z]+:", link):
        return False
    target, _, anchor = html.unescape(unquote(link)).partition("#")
    path = ((site / page).parent / target.partition("?")[0]).resolve() if target else site / page
    if not path.is_relative_to(site) or not path.exists():
        return True
    name = path.relative_to(site).as_posix()
    return bool(anchor) and name in anchors and anchor not in anchors[name]


def main() -> None:
    """Print the counts; exit with an error if one is not 0."""
    found = check(Path(sys.argv[1]).resolve())
    for kind, places in found.items():
        print(f"{kind}: {len(places)}")
        for place in places[:20]:
            print(f"    {place}")
    if any(found.values()):
        raise SystemExit("The site is not complete: see above.")


if __name__ == "__main__":
    main()
