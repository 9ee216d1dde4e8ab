"""The plot of a tree, drawn without a screen."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import SoftmaxTreeDisplay
from sklearn_hashnlp.trees import SoftmaxTree, complete_tree, huffman_tree, tree_from_nested


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
