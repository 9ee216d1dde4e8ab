"""Figures in which every text can be read, saved without further options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import TrainingHistoryDisplay
from tests.plotting.readable import assert_readable


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


HISTORY = [
    {
        "train_loss": 2 / epoch,
        "valid_loss": 2 / epoch + 0.2,
        "valid_acc": 1 - 0.4 / epoch,
        "epoch": epoch,
    }
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
