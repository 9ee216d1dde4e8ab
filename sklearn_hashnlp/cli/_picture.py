"""The picture that ``hashnlp demo`` leaves: what is confused with what, and how training went."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw_picture(path: Path, *, true: Any, found: Any, labels: list[str], classifier: Any, title: str) -> None:
    """Draw the confusion matrix and, beside it, the learning curve.

    Parameters
    ----------
    path : Path
        The PNG file to write.
    true, found : ndarray of shape (n_texts,), dtype str
        The labels that the texts have, and those that they were given.
    labels : list of str
        All labels, in the order to draw them.
    classifier : estimator
        Fitted, with the attribute ``history_``.
    title : str
        What stands above.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    # First: without matplotlib this tells how to install it.
    from sklearn_hashnlp.plotting import TrainingHistoryDisplay

    # isort: split
    # Figures of their own, not pyplot's: nothing here depends on a screen or on other figures.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    counts = confusion_matrix(true, found, labels=labels)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)  # colours by row: small labels count as much
    figure = Figure(figsize=(17, 9.5), layout=ConstrainedLayoutEngine(rect=(0.01, 0.015, 0.98, 0.965)))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=[1.9, 1])
    display = ConfusionMatrixDisplay(shares, display_labels=labels)
    display.plot(ax=left, cmap="Blues", xticks_rotation=60, colorbar=False)
    for text, count in zip(display.text_.flat, counts.flat, strict=True):
        text.set_text(str(count) if count else "")
        text.set_fontsize(10)
    left.set_title("Held-out texts: true label and the label found", fontsize=13, pad=12)
    left.set_xlabel("label found", fontsize=12)
    left.set_ylabel("true label", fontsize=12)
    for tick in left.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")
    TrainingHistoryDisplay.from_estimator(classifier, ax=right)
    right.set_box_aspect(1)
    right.set_anchor("N")
    right.set_title("Training", fontsize=13, pad=12)
    figure.suptitle(title, fontsize=17, fontweight="bold", y=0.99)
    figure.savefig(path, dpi=100)
