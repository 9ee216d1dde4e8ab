"""Figures in which every text can be read, saved without further options."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import SoftmaxTreeDisplay, TrainingHistoryDisplay
from sklearn_hashnlp.trees import complete_tree, huffman_tree
from tests.plotting.readable import assert_readable


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


HISTORY = [
    {"train_loss": 2 / epoch, "valid_loss": 2 / epoch + 0.2, "valid_acc": 1 - 0.4 / epoch, "epoch": epoch}
    for epoch in range(1, 9)
]


@pytest.mark.parametrize("history", [HISTORY, HISTORY[:1]], ids=["eight epochs", "one epoch"])
@pytest.mark.parametrize("own_axes", [False, True])
def test_the_plot_of_a_training_has_its_legend_when_it_is_saved_plainly(
    history: list[dict[str, float]], own_axes: bool, tmp_path: Path
) -> None:
    ax = Figure().subplots() if own_axes else None
    display = TrainingHistoryDisplay(history).plot(ax=ax)
    display.ax_.set_title("AG News")
    display.figure_.savefig(tmp_path / "x.png")
    assert_readable(display.figure_)
    legend = display.ax_.get_legend().get_window_extent()
    assert len(display.ax_.get_legend().get_texts()) == 3
    assert display.ax_.get_window_extent().contains(legend.x0, legend.y0)
    assert display.accuracy_ax_ is not None
    for each in (display.ax_, display.accuracy_ax_):  # the legend covers no point
        for line in each.lines:
            pixels = each.transData.transform(line.get_xydata())
            assert not any(legend.contains(*pixel) for pixel in pixels)
    assert [tick for tick in display.ax_.get_xticks() if tick != round(tick)] == []


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (huffman_tree([2**i for i in range(12)]), [f"quite a long name {'x' * i}" for i in range(12)]),
        (complete_tree(100), None),
    ],
    ids=["deep", "hundred"],
)
@pytest.mark.parametrize("own_axes", [False, True])
def test_the_picture_of_a_tree_cuts_no_name(tree: Any, names: list[str] | None, own_axes: bool) -> None:
    ax: Axes | None = Figure().subplots() if own_axes else None
    display = SoftmaxTreeDisplay.from_tree(tree, names, ax)
    display.figure_.canvas.draw()
    box = display.ax_.get_window_extent()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert all(box.x0 <= one.x0 and one.x1 <= box.x1 and box.y0 <= one.y0 and one.y1 <= box.y1 for one in boxes)
    labels = boxes[-tree.n_classes :]
    assert not any(one.overlaps(other) for one, other in combinations(labels, 2))
