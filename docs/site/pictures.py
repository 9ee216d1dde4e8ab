"""Pictures on the site: they follow the theme of the page, fit its width, and open large.

SVG that names its colors by classes, as ``docs/images/drawing.py`` draws it, is put into the page,
where ``static/pictures.css`` has the colors of both themes. Other pictures stay files, and are
inverted on a dark page.
"""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

_IMAGE = re.compile(r"(?P<link><a [^>]*>\s*)?<img (?P<attributes>[^>]*?)\s*/?>")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_NOT_INLINE = re.compile(r"<style>.*?</style>|<title>.*?</title>|<\?xml.*?\?>", re.DOTALL)
_COLORS = ("#0b5cad", "#b45309", "#1a7f37", "#b42318", "#7a4fb5", "#57606a")


def show(app: Any, _name: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Put pictures of a page into links that open them; called by Sphinx before writing."""
    if "body" in context:
        sources = {name: Path(app.srcdir) / path for path, name in app.builder.images.items()}
        context["body"] = _IMAGE.sub(lambda match: _picture(match, sources), context["body"])


def _picture(match: re.Match[str], sources: dict[str, Path]) -> str:
    attributes = dict(_ATTRIBUTE.findall(match["attributes"]))
    address = attributes.get("src", "")
    if "_static" in address or "://" in address:
        return match[0]
    # Without this class, the theme gives the picture a light ground.
    attributes["class"] = f"dark-light {attributes.get('class', '')}".strip()
    image = "<img {}/>".format(" ".join('{}="{}"'.format(*pair) for pair in attributes.items()))
    if match["link"]:  # of a gallery card, which leads to its example
        return match["link"] + image
    source = sources.get(unescape(address).rsplit("/", 1)[-1])
    svg = (
        inline(source.read_text(encoding="utf-8"), attributes.get("alt", ""))
        if address.endswith(".svg") and source
        else ""
    )
    return f'<a class="picture" href="{address}" title="larger">{svg or image}</a>'


def inline(svg: str, alt: str) -> str:
    """Return an SVG for the inside of a page; nothing if its colors or names would not match."""
    if "currentColor" not in svg or ' id="' in svg:
        return ""
    bare = _NOT_INLINE.sub("", svg).replace(' style="color-scheme:light dark"', "").strip()
    return bare.replace("<svg ", f'<svg aria-label="{escape(unescape(alt))}" ', 1).replace("\n", "")


def reset_plots(_gallery_conf: dict[str, Any], _file: str) -> None:
    """Let gallery plots have no background, and distinct colors; called by sphinx-gallery."""
    import matplotlib

    settings = {
        "axes.prop_cycle": matplotlib.rcsetup.cycler(color=_COLORS),
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.transparent": True,
        "legend.frameon": False,
        "image.cmap": "cividis",
    }
    matplotlib.rcParams.update(settings)
