"""The tree: its laws, the reference implementation's example, and what is refused."""

import pickle
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from sklearn_hashnlp.trees import SoftmaxTree, complete_tree, huffman_tree, tree_from_nested
from sklearn_hashnlp.trees._softmax_tree import DepthStatistics

from ..oracles.trees import leaf_paths, subtrees
from ..random_trees import nested_trees


def test_the_tree_of_the_reference_implementation() -> None:
    tree = tree_from_nested([[[[7, 8], [6, 5]], [[4, 1], [0, 2]]], [9, 3]])
    # of the classes 0 to 9
    codes = ["0110", "0101", "0111", "11", "0100", "0011", "0010", "0000", "0001", "10"]
    assert ["".join(map(str, tree.path(c)[1])) for c in range(10)] == codes
    assert tree.path(7)[0].tolist() == [0, 1, 2, 3]


@given(nested_trees())
def test_paths_are_those_of_a_walk(nested: Any) -> None:
    tree = tree_from_nested(nested)
    wanted = leaf_paths(nested)
    assert sorted(wanted) == list(range(tree.n_classes))
    offsets, nodes, branches = tree.paths()
    for c, (class_nodes, class_branches) in wanted.items():
        assert [part.tolist() for part in tree.path(c)] == [class_nodes, class_branches]
        row = slice(offsets[c], offsets[c + 1])
        assert nodes[row].tolist() == class_nodes
        assert branches[row].tolist() == class_branches
        assert tree.depths[c] == len(class_nodes)
    assert len(nodes) == len(branches) == offsets[-1]


@given(nested_trees())
def test_arrays_describe_the_lists(nested: Any) -> None:
    tree = tree_from_nested(nested)
    lists = list(subtrees(nested))
    assert [tree.to_nested(node) for node in range(tree.n_nodes)] == lists
    assert tree.arities.tolist() == [len(item) for item in lists]
    assert tree.is_binary == all(len(item) == 2 for item in lists)
    rows = [1 if len(item) == 2 else len(item) for item in lists]
    assert np.diff(tree.score_offsets).tolist() == rows
    assert tree.score_offsets[0] == 0
    assert tree.n_scores == sum(rows)
    probability = [Fraction(1)] * tree.n_classes
    for c in range(tree.n_classes):
        for node in tree.path(c)[0]:
            probability[c] /= int(tree.arities[node])
    assert sum(probability) == 1
    for node in range(1, tree.n_nodes):
        parent, branch = tree.node_parent[node], tree.node_branch[node]
        assert tree.children[tree.offsets[parent] + branch] == node
    if tree.n_nodes:
        assert (tree.node_parent[0], tree.node_branch[0]) == (-1, -1)


@given(nested_trees())
def test_round_trips(nested: Any) -> None:
    tree = tree_from_nested(nested)
    assert tree.to_nested() == nested
    for other in (SoftmaxTree.from_arrays(tree.to_arrays()), pickle.loads(pickle.dumps(tree))):
        assert other == tree
        assert hash(other) == hash(tree)
    assert tree != tree_from_nested([nested, tree.n_classes])
    assert tree != "a tree"


@given(nested_trees())
def test_statistics(nested: Any) -> None:
    tree = tree_from_nested(nested)
    paths = leaf_paths(nested)
    lengths = [len(paths[c][0]) for c in range(tree.n_classes)]
    rows = np.diff(tree.score_offsets)
    costs = [sum(int(rows[node]) for node in paths[c][0]) for c in range(tree.n_classes)]
    counts = np.arange(tree.n_classes) + 1
    assert tree.expected_depth(counts) == pytest.approx(np.average(lengths, weights=counts))
    assert tree.expected_cost(counts) == pytest.approx(np.average(costs, weights=counts))
    assert tree.depth_statistics(counts) == pytest.approx(
        (
            min(lengths),
            np.median(lengths),
            np.mean(lengths),
            max(lengths),
            np.average(lengths, weights=counts),
        )
    )
    assert tree.depth_statistics().expected == tree.depth_statistics().mean
    assert tree.max_depth == max(lengths)


def test_one_class_has_no_node() -> None:
    tree = SoftmaxTree([], [0])
    assert (tree.n_classes, tree.n_nodes, tree.n_scores, tree.max_depth, tree.is_binary) == (
        1,
        0,
        0,
        0,
        True,
    )
    assert [part.tolist() for part in tree.paths()] == [[0, 0], [], []]
    assert [part.tolist() for part in tree.path(0)] == [[], []]
    assert (tree.class_parent.tolist(), tree.class_branch.tolist()) == ([-1], [-1])
    assert tree.to_nested() == 0
    assert tree.draw() == "class 0"
    assert tree.expected_depth([3]) == tree.expected_cost([3]) == 0
    assert tree.depth_statistics() == DepthStatistics(0, 0, 0, 0, 0)
    assert repr(tree) == "SoftmaxTree(n_classes=1, n_nodes=0, max_depth=0, binary)"


def test_a_tree_does_not_change() -> None:
    children = np.array([~0, ~1])
    tree = SoftmaxTree(children, [0, 2])
    children[:] = 7
    assert tree.children.tolist() == [~0, ~1]
    with pytest.raises(AttributeError):
        tree.children = children  # type: ignore[misc]
    for name in ("children", "offsets", "depths", "class_branch", "node_parent", "score_offsets"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 1


def test_drawing() -> None:
    tree = tree_from_nested([[2, [0, 3]], 1, 4])
    assert tree.draw().splitlines() == [
        "node 0",
        "├── node 1",
        "│   ├── class 2",
        "│   └── node 2",
        "│       ├── class 0",
        "│       └── class 3",
        "├── class 1",
        "└── class 4",
    ]
    assert tree.draw("abcde", max_lines=3).splitlines() == [
        "node 0",
        "├── node 1",
        "│   ├── c",
        "... and 5 more lines",
    ]
    assert tree.draw(max_lines=None) == tree.draw()
    with pytest.raises(
        ValueError,
        match=r"SoftmaxTree\.draw: names must have one name for each of 5 classes, got 2",
    ):
        tree.draw(["a", "b"])


def test_a_chain_deeper_than_the_stack() -> None:
    depth = 10_000
    assert depth > sys.getrecursionlimit()
    nested: Any = depth
    for c in reversed(range(depth)):
        nested = [c, nested]
    tree = tree_from_nested(nested)
    assert tree.max_depth == depth
    assert tree.depths[:3].tolist() == [1, 2, 3]
    assert tree.path(depth)[0].tolist() == list(range(depth))
    assert tree_from_nested(tree.to_nested()) == tree
    assert tree.draw().count("\n") == 1000
    assert tree.expected_depth(np.ones(depth + 1)) > depth / 2


@pytest.mark.parametrize(
    ("children", "offsets", "error", "message"),
    [
        (
            [0.0, 1.0],
            [0, 2],
            TypeError,
            r"children must be a one-dimensional array of integers, got .* float64",
        ),
        ([[-1, -2]], [0, 2], TypeError, r"children .* shape \(1, 2\)"),
        (
            [-1, -2],
            [],
            ValueError,
            r"offsets must ascend from 0 to the number of children, 2, got \[\]",
        ),
        ([-1, -2], [0, 3], ValueError, r"the number of children, 2, got \[0, 3\]"),
        ([-1, -2], [1, 2], ValueError, r"ascend from 0"),
        ([1, -1, -2, -3], [0, 3, 2, 4], ValueError, r"ascend from 0"),
        (
            [1, -1, -2],
            [0, 2, 3],
            ValueError,
            r"two or more children, got 1 for node 1\. Replace the node by its child",
        ),
        ([1, -1, -2, -3], [0, 2, 2, 4], ValueError, r"got 0 for node 1"),
        (
            [2, -1, -2, -3],
            [0, 2, 4],
            ValueError,
            r"node 0 has the child 2, which does not exist: there are 2 inner",
        ),
        (
            [0, -1, -2, -3],
            [0, 2, 4],
            ValueError,
            r"node 0 has the child 0, which must have a larger number",
        ),
        (
            [1, -1, 2, -2, 1, -3],
            [0, 2, 4, 6],
            ValueError,
            r"node 2 has the child 1, which must have a larger number",
        ),
        ([1, 1, -1, -2], [0, 2, 4], ValueError, r"one parent, got 0 and 0 for node 1"),
        ([-3, -4, -1, -2], [0, 2, 4], ValueError, r"one parent, got none for node 1"),
        (
            [1, -1, -2, -2],
            [0, 2, 4],
            ValueError,
            r"tree of 3 leaves class 1 occurs twice, below the nodes 1 and 1",
        ),
        (
            [1, -1, -4, -2],
            [0, 2, 4],
            ValueError,
            r"tree of 3 leaves class 2 is missing, and the largest class is 3",
        ),
    ],
)
def test_what_is_no_tree(children: Any, offsets: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="SoftmaxTree.*" + message):
        SoftmaxTree(children, offsets)


def test_wrong_questions_are_named() -> None:
    tree = complete_tree(3)
    for wrong in (3, -1):
        with pytest.raises(
            IndexError, match=rf"SoftmaxTree\.path: class_index must be in 0\.\.2, got {wrong}"
        ):
            tree.path(wrong)
        with pytest.raises(
            IndexError,
            match=rf"SoftmaxTree\.to_nested: node must be an inner node in 0\.\.1, got {wrong}",
        ):
            tree.to_nested(wrong)
    with pytest.raises(
        ValueError,
        match=r"expected_depth: counts must be one for each of 3 classes.* got 2 with the sum 3",
    ):
        tree.expected_depth([1, 2])
    with pytest.raises(ValueError, match=r"expected_cost: .* not all zero, got 3 with the sum 0"):
        tree.expected_cost([0, 0, 0])
    with pytest.raises(
        ValueError, match=r"from_arrays: .* but offsets is not among \['children'\]"
    ):
        SoftmaxTree.from_arrays({"children": [-1, -2]})


def test_html_shows_the_tree_and_shortens_large_ones():
    small = huffman_tree([5, 3, 1])
    assert small._repr_html_() == f"<div>{small!r}</div><pre>{small.draw()}</pre>"
    assert huffman_tree([1] * 1000)._repr_html_().count("\n") < 150
