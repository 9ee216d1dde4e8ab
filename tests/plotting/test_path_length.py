"""Plot of the path lengths of trees."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import PathLengthDisplay
from sklearn_hashnlp.trees import complete_tree, huffman_tree

COUNTS = [50, 20, 9, 3, 1, 1]


def test_the_curve_is_the_share_of_paths_that_are_so_short() -> None:
    tree = huffman_tree(COUNTS)
    display = PathLengthDisplay.from_tree(tree, COUNTS, name="Huffman", ax=Figure().subplots())
    lengths, shares = display.line_.get_data()
    for length, share in zip(lengths, shares, strict=True):
        reached = sum(count for count, depth in zip(COUNTS, tree.depths, strict=True) if depth <= length)
        assert share == pytest.approx(reached / sum(COUNTS))
    assert shares[-1] == pytest.approx(1)
    assert display.mean == pytest.approx(tree.expected_depth(COUNTS))
    assert display.figure_ is display.ax_.get_figure()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [f"Huffman (mean {display.mean:.1f})"]


def test_without_counts_and_with_options() -> None:
    ax = Figure().subplots()
    display = PathLengthDisplay(complete_tree(5).depths).plot(ax=ax, line_kw={"color": "red"})
    assert display.mean == pytest.approx(np.mean(complete_tree(5).depths))
    assert display.line_.get_color() == "red"
    PathLengthDisplay([1, 2]).plot(ax=ax)
    assert len(ax.lines) == 2
    assert PathLengthDisplay([0]).plot(ax=Figure().subplots()).mean == 0


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one path"):
        PathLengthDisplay([])
    with pytest.raises(ValueError, match=r"shape \(2,\) and \(1,\)"):
        PathLengthDisplay([1, 2], [3])
    for weights in ([0, 0], [-1, 2], [np.nan, 1]):
        with pytest.raises(ValueError, match="0 or more, not all"):
            PathLengthDisplay([1, 2], weights)
