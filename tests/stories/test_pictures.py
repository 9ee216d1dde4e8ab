"""User stories: pictures in which everything can be read, saved without further options."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from sklearn_hashnlp import datasets
from sklearn_hashnlp.cli import _demo
from sklearn_hashnlp.plotting import SoftmaxTreeDisplay, TrainingHistoryDisplay
from sklearn_hashnlp.trees import complete_tree, huffman_tree

N_SPLITS = _demo._N_SPLITS
HASH_EMBEDDING, LINEAR = "hash embedding, ", "TF-IDF + LinearSVC, "


def texts_of(figure: Figure) -> Iterator[Text]:
    """Yield all texts that a drawn figure shows."""
    legends = [*figure.legends, *(legend for ax in figure.axes if (legend := ax.get_legend()) is not None)]
    texts = [*figure.texts, *(text for legend in legends for text in legend.get_texts())]
    if figure._suptitle is not None:  # type: ignore[attr-defined]  # matplotlib has no public name for its artist
        texts.append(figure._suptitle)  # type: ignore[attr-defined]
    for ax in figure.axes:
        texts += [ax.title, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [axis.label, *(label for tick in ticks for label in (tick.label1, tick.label2))]
    yield from (text for text in dict.fromkeys(texts) if text.get_visible() and text.get_text().strip())


def assert_readable(figure: Figure) -> None:
    """Check that no text of a figure leaves it, and that no two of them overlap."""
    FigureCanvasAgg(figure).draw()
    boxes = {text: text.get_window_extent() for text in texts_of(figure)}
    assert len(boxes) > 1
    for text, box in boxes.items():
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
    for (one, box), (other, other_box) in combinations(boxes.items(), 2):
        slanted = {round(text.get_rotation()) % 90 for text in (one, other)} != {0}
        assert slanted or not box.overlaps(other_box), (one, other)  # boxes of slanted texts overlap where these do not


@pytest.fixture(scope="module")
def demo(hashnlp: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Figure, str]:
    """Return the picture and the output of ``hashnlp demo`` on two modules, with fewer texts."""
    texts, labels = datasets.load_stdlib_docstrings(return_X_y=True)
    classes, counts = np.unique(labels, return_counts=True)
    mask = np.isin(labels, classes[counts.argsort()[:2]])
    few = [text for text, keep in zip(texts, mask, strict=True) if keep], labels[mask]
    figures: list[Figure] = []

    def keep(figure: Figure, *rest: Any, **more: Any) -> None:
        figures.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_stdlib_docstrings", lambda *, return_X_y: few)
        patch.setattr(_demo, "_TRAIN_SIZES", (1.0,))
        patch.setattr(_demo, "_N_SPLITS", 2)
        patch.setattr(Figure, "savefig", keep)
        result = hashnlp("demo", "--output", tmp_path_factory.mktemp("demo"))
    assert result.code == 0, result.err
    [figure] = figures
    return figure, result.out


def test_the_demos_picture_shows_every_model_of_its_table_with_equal_features_side_by_side(
    demo: tuple[Figure, str],
) -> None:
    figure, out = demo
    matrix, curves, scale = figure.axes
    names = [text.get_text() for text in curves.get_legend().get_texts()]
    assert names == [line.split("  ")[0] for line in out.splitlines() if "0." in line][: len(names)]
    features = {
        prefix: [one.removeprefix(prefix) for one in names if one.startswith(prefix)]
        for prefix in (HASH_EMBEDDING, LINEAR)
    }
    assert features[HASH_EMBEDDING] == features[LINEAR] == ["words", "words + characters"]
    bars = [one for one in curves.containers if isinstance(one, ErrorbarContainer)]
    assert len(bars) == 4
    assert all(bar.has_yerr for bar in bars)
    assert "standard deviation of 2 splits" in curves.get_title()
    assert N_SPLITS == 5
    assert matrix.get_xlabel() == "predicted label"
    assert "share of the test texts" in scale.get_ylabel()


def test_the_demos_picture_can_be_read(demo: tuple[Figure, str]) -> None:
    figure, _ = demo
    assert_readable(figure)
    matrix, curves, scale = (ax.get_window_extent() for ax in figure.axes)
    assert matrix.height == pytest.approx(curves.height)
    assert scale.height == pytest.approx(matrix.height, rel=0.02)
    legend = figure.axes[1].get_legend()
    assert not legend.get_window_extent().overlaps(curves)


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
    if own_axes is False:
        from matplotlib import pyplot

        pyplot.close(display.figure_)


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
    if own_axes is False:
        from matplotlib import pyplot

        pyplot.close(display.figure_)
