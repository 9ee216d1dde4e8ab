"""Plots of trees and of the lengths of their paths, drawn without a screen."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import PathLengthDisplay, SoftmaxTreeDisplay
from sklearn_hashnlp.trees import SoftmaxTree, complete_tree, huffman_tree, tree_from_nested

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


def test_nodes_and_names_are_at_their_positions() -> None:
    tree = tree_from_nested([[2, [0, 3]], 1, 4])
    ax = Figure().subplots()
    display = SoftmaxTreeDisplay.from_tree(tree, ["a", "b", "c", "d", "e"], ax)
    assert display.ax_ is ax
    positions = {text.get_text(): text.get_position() for text in ax.texts}
    assert sorted(positions, key=lambda name: positions[name][0]) == ["c", "1", "a", "2", "d", "0", "b", "e"]
    heights = {name: -y for name, (_, y) in positions.items()}
    assert heights == {"0": 0, "1": 1, "b": 1, "e": 1, "2": 2, "c": 2, "a": 3, "d": 3}
    edges = {tuple(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in ax.lines}
    expected = [("0", "1"), ("0", "b"), ("0", "e"), ("1", "c"), ("1", "2"), ("2", "a"), ("2", "d")]
    assert edges == {(positions[above], positions[below]) for above, below in expected}
    display.figure_.canvas.draw()


def test_any_tree_is_drawn() -> None:
    for tree in (complete_tree(100), huffman_tree(range(20)), SoftmaxTree([], [0])):
        display = SoftmaxTreeDisplay.from_tree(tree, ax=Figure().subplots())
        assert len(display.ax_.texts) == tree.n_nodes + tree.n_classes
        assert len(display.ax_.lines) == len(tree.children)
        display.figure_.canvas.draw()


def test_large_trees_and_missing_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 100 classes, but this one has 101\. Print tree\.draw\(\)"):
        SoftmaxTreeDisplay.from_tree(complete_tree(101))
    with pytest.raises(ValueError, match=r"needs a name for each of 3 classes, got 2"):
        SoftmaxTreeDisplay.from_tree(complete_tree(3), ["a", "b"])
