"""Run the tutorial, and write its pictures and the outputs that differ between versions of Python.

``python docs/images/tutorial_pictures.py`` runs the code of ``docs/tutorial.md``, writes
``tutorial_*.png`` beside this file, and fills each ``text`` block of the page with the output of
the ``print`` before it. The pictures have no ground and gray lines and words, so that they can be
read in light and in dark mode.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.colors import LinearSegmentedColormap

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "tutorial.md"
BLUE, GRAY = "#3b82c4", "#7a7a7a"
STYLE = {
    "axes.edgecolor": GRAY,
    "axes.labelcolor": GRAY,
    "axes.prop_cycle": matplotlib.cycler(color=[BLUE, "#d9772b", GRAY]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11,
    "legend.frameon": False,
    "legend.labelcolor": GRAY,
    "savefig.dpi": 110,
    "savefig.transparent": True,
    "text.color": GRAY,
    "xtick.color": GRAY,
    "ytick.color": GRAY,
}
PICTURES = {
    "explanation.png": "tutorial_explanation.png",
    "threshold.png": "tutorial_threshold.png",
}

_PRINTED = re.compile(r"`(print\([^`\n]*\))`:\n\n```text\n.*?```", re.DOTALL)
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(page: str) -> tuple[str, dict[str, Any]]:
    """Run a page's code in the current folder; return it with new outputs, and its variables."""
    names: dict[str, Any] = {}
    found = [*_BLOCK.finditer(page), *_PRINTED.finditer(page)]
    outputs = []
    for match in sorted(found, key=lambda match: match.start()):
        if match.re is _BLOCK:
            for example in doctest.DocTestParser().get_examples(match[1]):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, "<tutorial>", "single"), names)
        else:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(match[1], names)
            outputs.append(
                "\n".join(line.rstrip() for line in output.getvalue().rstrip().splitlines())
            )
    rest = iter(outputs)
    return _PRINTED.sub(lambda match: f"`{match[1]}`:\n\n```text\n{next(rest)}\n```", page), names


def save_confusion(display: Any, path: Path) -> None:
    """Save a confusion matrix with dark numbers on blue cells, and small counts in gray."""
    counts = display.confusion_matrix
    smallest = counts.max() // 12
    colors = LinearSegmentedColormap.from_list("counts", ["#d3e5f7", "#6aa9e4"])
    colors.set_under("none")
    display.im_.set_cmap(colors)
    display.im_.set_clim(smallest, counts.max())
    for count, text in zip(counts.flat, display.text_.flat, strict=True):
        text.set_color("#0d2136" if count >= smallest else GRAY)
    display.figure_.savefig(path)


def main() -> None:
    """Write the page and its pictures."""
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context(STYLE):
        os.chdir(folder)
        try:
            page, names = run(PAGE.read_text(encoding="utf-8"))
            for source, target in PICTURES.items():
                (FOLDER / target).write_bytes(Path(source).read_bytes())
            save_confusion(names["confusion"], FOLDER / "tutorial_confusion.png")
        finally:
            os.chdir(start)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
