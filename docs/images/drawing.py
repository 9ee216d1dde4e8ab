"""Shapes of the guide's pictures: SVG without a ground, in colors for a light and for a dark page.

A picture names its colors by classes. In the file, a media query chooses between the two sets; on
the site, where ``docs/site/pictures.py`` puts the picture into the page, ``pictures.css`` does, so
that it follows the page's theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

INK = "ink"
GRAY = "gray"
BLUE = "blue"
ORANGE = "orange"
GREEN = "green"
RED = "red"
LIGHT = {
    INK: "#24292f",
    GRAY: "#57606a",
    BLUE: "#0b5cad",
    ORANGE: "#b45309",
    GREEN: "#1a7f37",
    RED: "#b42318",
}
DARK = {
    INK: "#e6edf3",
    GRAY: "#a3adb8",
    BLUE: "#6cb6ff",
    ORANGE: "#f0a35e",
    GREEN: "#5fca7c",
    RED: "#ff8f85",
}
SANS, MONO = "system-ui,'DejaVu Sans',sans-serif", "ui-monospace,'DejaVu Sans Mono',Menlo,monospace"
PALE = 0.12  # opacity of the color inside of a box; on a dark page the same color is light


def style() -> str:
    """Return the style of a picture that stands by itself."""
    light, dark = (
        "".join(f".{name}{{color:{color}}}" for name, color in one.items()) for one in (LIGHT, DARK)
    )
    return (
        f"<style>{light}.mono{{font-family:{MONO}}}"
        f"@media(prefers-color-scheme:dark){{{dark}}}</style>"
    )


class Drawing:
    """An SVG, with the few shapes that the pictures need."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.size = (width, height)
        self.title = title
        self.parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 16,
        color: str = INK,
        anchor: str = "middle",
        mono: bool = False,
        bold: bool = False,
    ) -> None:
        """Write a line of text, centered on a height."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y + 0.35 * size:g}" class="{color}{" mono" * mono}" '
            f'font-size="{size:g}" fill="currentColor" text-anchor="{anchor}"{weight} '
            f'xml:space="preserve">{escape(words)}</text>'
        )

    def lines(self, x: float, y: float, words: str, *, size: float = 16, **options: object) -> None:
        """Write lines of text around a height."""
        lines = words.split("\n")
        for i, line in enumerate(lines):
            self.text(x, y + (i - (len(lines) - 1) / 2) * size * 1.25, line, size=size, **options)  # type: ignore[arg-type]

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        *,
        color: str = GRAY,
        shade: float | None = None,
        mono: bool = False,
        size: float = 16,
        bold: bool = False,
        radius: float = 5,
    ) -> None:
        """Draw a rectangle with lines of text in its middle; shade is the opacity of its inside."""
        if shade is None:
            shade = PALE if color != INK else 0.04
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
            f'class="{color}" fill="currentColor" fill-opacity="{shade:g}" stroke="currentColor" '
            'stroke-width="1.3"/>'
        )
        if words:
            self.lines(x + width / 2, y + height / 2, words, mono=mono, size=size, bold=bold)

    def bar(self, x: float, y: float, width: float, height: float, *, color: str = BLUE) -> None:
        """Draw a filled rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" class="{color}" '
            'fill="currentColor"/>'
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        color: str = GRAY,
        width: float = 1.5,
        dash: str = "",
    ) -> None:
        """Draw a line."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{color}" '
            f'stroke="currentColor" stroke-width="{width:g}"{dashes}/>'
        )

    def curve(
        self, points: Iterable[tuple[float, float]], *, color: str = BLUE, dash: str = ""
    ) -> None:
        """Draw a line through points."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" class="{color}" fill="none" stroke="currentColor" '
            f'stroke-width="2"{dashes}/>'
        )

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, *, color: str = GRAY, width: float = 1.6
    ) -> None:
        """Draw a line with a head at its end."""
        length = math.hypot(x2 - x1, y2 - y1)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 6 * dx, y2 - 6 * dy, color=color, width=width)
        left, right = (
            (x2 - 9 * dx + side * 4.5 * dy, y2 - 9 * dy - side * 4.5 * dx) for side in (1, -1)
        )
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in ((x2, y2), left, right))
        self.parts.append(f'<polygon points="{points}" class="{color}" fill="currentColor"/>')

    def circle(
        self, x: float, y: float, radius: float, *, color: str = GRAY, shade: float = PALE
    ) -> None:
        """Draw a circle; a shade of 1 is a dot."""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{color}" fill="currentColor" '
            f'fill-opacity="{shade:g}" stroke="currentColor" stroke-width="1.3"/>'
        )

    def chain(
        self,
        y: float,
        boxes: Sequence[tuple[str, str]],
        *,
        x: float = 8,
        height: float = 56,
        gap: float = 26,
    ) -> None:
        """Draw boxes of equal width from left to right with arrows between them."""
        width = (self.size[0] - 2 * x - gap * (len(boxes) - 1)) / len(boxes)
        for i, (words, color) in enumerate(boxes):
            left, middle = x + i * (width + gap), y + height / 2
            self.box(left, y, width, height, words, color=color, size=15)
            if i:
                self.arrow(left - gap, middle, left, middle)

    def pairs(
        self,
        left: str,
        right: str,
        rows: Sequence[tuple[str, str]],
        *,
        y: float = 40,
        note: str = "",
    ) -> None:
        """Draw two columns of code with an arrow in each row: what it is called there, and here."""
        width = (self.size[0] - 16 - 34) / 2
        self.text(8 + width / 2, y - 22, left, bold=True, color=GRAY)
        self.text(self.size[0] - 8 - width / 2, y - 22, right, bold=True, color=BLUE)
        for theirs, ours in rows:
            height = 22 + 19 * max(theirs.count("\n"), ours.count("\n"), 0) + 12
            self.box(8, y, width, height, theirs, mono=True, size=14, color=GRAY)
            self.arrow(
                8 + width, y + height / 2, self.size[0] - 8 - width, y + height / 2, color=BLUE
            )
            self.box(
                self.size[0] - 8 - width, y, width, height, ours, mono=True, size=14, color=BLUE
            )
            y += height + 10
        if note:
            self.text(self.size[0] / 2, y + 8, note, size=14, color=GRAY)

    def __str__(self) -> str:
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" font-family="{SANS}" '
            'style="color-scheme:light dark">'
            f"<title>{escape(self.title)}</title>"
        )
        return "\n".join([head, style(), *self.parts, "</svg>"]) + "\n"
