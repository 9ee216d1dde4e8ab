"""The picture that ``hashnlp demo`` leaves: what is confused with what, and what more texts are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_COLOURS = ("#1f5fa8", "#dd8452", "#55a868")


def draw_picture(
    path: Path,
    *,
    true: Any,
    found: Any,
    labels: list[str],
    curves: Mapping[str, Sequence[tuple[int, float]]],
    title: str,
) -> None:
    """Draw the confusion matrix and, beside it, learning curves."""
    # First: without matplotlib this tells how to install it.
    import sklearn_hashnlp.plotting  # noqa: F401 - imported for its error alone

    # isort: split
    # A figure of its own, not pyplot's: nothing here depends on a screen or on other figures.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    figure = Figure(figsize=(17, 9.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # type: ignore[call-arg, union-attr]  # a constrained layout's, which mypy does not know it is
    figure.suptitle(title, fontsize=17, fontweight="bold")
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])

    counts = confusion_matrix(true, found, labels=labels)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)  # colours by row: small labels count as much
    display = ConfusionMatrixDisplay(shares, display_labels=labels)
    display.plot(ax=left, cmap="Blues", xticks_rotation=60, colorbar=False)
    for text, count in zip(display.text_.flat, counts.flat, strict=True):
        text.set_text(str(count) if count else "")
        text.set_fontsize(10)
    left.set_title("Held-out texts by true label and label found", fontsize=13, pad=10)
    left.set_xlabel("label found", fontsize=12)
    left.set_ylabel("true label", fontsize=12)
    for tick in left.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")

    for (name, points), colour in zip(curves.items(), _COLOURS, strict=False):
        sizes, accuracies = zip(*points, strict=True)
        right.plot(sizes, accuracies, marker="o", color=colour, label=name, linewidth=2)
    right.set_xlabel("texts learned from", fontsize=12)
    right.set_ylabel("held-out accuracy", fontsize=12)
    right.set_xlim(left=0)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    right.grid(alpha=0.3)
    right.legend(loc="lower right", fontsize=12)
    right.set_title("Learning curves", fontsize=13, pad=10)
    right.set_box_aspect(1)
    figure.savefig(path, dpi=100)
