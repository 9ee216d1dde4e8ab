"""Trees from nested lists and from paths, and lists and paths that are no tree."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import SoftmaxTree, tree_from_nested, tree_from_paths

from ..random_trees import nested_trees


def test_nodes_are_numbered_in_pre_order() -> None:
    assert tree_from_nested([[1, 0], [3, [2, 4]]]) == SoftmaxTree(
        [1, 2, ~1, ~0, ~3, 3, ~2, ~4], [0, 2, 4, 6, 8]
    )


def test_tuples_and_numpy_integers() -> None:
    assert tree_from_nested(((np.int64(1), np.uint8(0)), 2)).to_nested() == [[1, 0], 2]
    assert tree_from_nested(np.int32(0)) == tree_from_nested(0) == SoftmaxTree([], [0])


@pytest.mark.parametrize(
    ("nested", "error", "message"),
    [
        (
            ["a", 0],
            TypeError,
            r"tree_from_nested: items must be lists, tuples or classes, .* got 'a' \(str\)",
        ),
        (["a", ["b", "a"]], ValueError, "tree_from_nested: 'a' occurs twice among the leaves"),
        ([0, True], TypeError, r"True \(bool\)"),
        ([0, -1], TypeError, r"all integers of at least 0, got -1 \(int\)"),
        ([0, 1.0], TypeError, r"1\.0 \(float\)"),
        (1, ValueError, "tree_from_nested: the class of a tree of one class must be 0, got 1"),
        ([0], ValueError, "got 1 for node 0"),
        ([0, [1, []]], ValueError, "got 0 for node 2"),
    ],
)
def test_lists_that_are_no_tree(nested: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tree_from_nested(nested)


@given(nested_trees(), st.data())
def test_leaves_are_names(nested: Any, data: st.DataObject) -> None:
    def named(item: Any, names: list[str]) -> Any:
        return [named(inner, names) for inner in item] if isinstance(item, list) else names[item]

    tree = tree_from_nested(nested)
    names = sorted(f"label {number:02}" for number in range(tree.n_classes))
    assert tree_from_nested(named(nested, names)) == tree
    names = data.draw(st.permutations(names))
    assert tree_from_nested(named(nested, names), names=np.array(names)) == tree
    assert tree_from_nested(nested, names=range(tree.n_classes)) == tree


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "the leaf 'c' is not among the 2 names"),
        (["a", "b", "c", "d"], "the name 'd' is no leaf"),
        (["a", "b", "c", "a"], "'a' occurs twice among the names"),
    ],
)
def test_names_that_are_not_the_leaves(names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_from_nested([["a", "b"], "c"], names=names)


@given(nested_trees())
def test_paths_round_trip(nested: Any) -> None:
    tree = tree_from_nested(nested)
    branches = [tree.path(c)[1] for c in range(tree.n_classes)]
    assert tree_from_paths(branches) == tree
    assert tree_from_paths([tuple(path.tolist()) for path in branches]) == tree


def test_a_deep_chain() -> None:
    depth = 2000
    turns = np.append(np.ones(depth, dtype=np.int8), np.int8(0))
    # Class c turns off after c steps; the last class never does.
    tree = tree_from_paths([*(turns[depth - c :] for c in range(depth)), turns[:depth]])
    assert tree.depths.tolist() == [*range(1, depth + 1), depth]
    assert tree.path(depth)[0].tolist() == list(range(depth))


def test_the_path_of_one_class() -> None:
    assert tree_from_paths([()]) == SoftmaxTree([], [0])


@pytest.mark.parametrize(
    ("paths", "error", "message"),
    [
        ([], ValueError, "paths must have the path of one class or more, got none"),
        ([(0,), (1.0,)], TypeError, "cannot be interpreted as an integer"),
        (
            [(0,), (-1,)],
            ValueError,
            r"branches must be in 0\.\.1, .* got -1 in the path of class 1",
        ),
        (
            [(0, 2), (0, 1)],
            ValueError,
            r"branches must be in 0\.\.1, .* got 2 in the path of class 0",
        ),
        ([(0,), ()], ValueError, r"got \(\) of class 1, which is the path of class 0"),
        ([(), ()], ValueError, r"got \(\) of class 0, which is the path of class 1"),
        (
            [(0, 1), (0, 0), (1,), (0, 1)],
            ValueError,
            r"got \(0, 1\) of class 0, which is the path of class 3",
        ),
        (
            [(0,), (1,), (0, 1)],
            ValueError,
            r"got \(0\) of class 0, which is the path of class 2 or its prefix",
        ),
        (
            [(0,), (2,), (2, 1)],
            ValueError,
            r"the node at \(\), on the path of class 1, has no branch 1",
        ),
        (
            [(0,), (1, 1), (1, 2)],
            ValueError,
            r"the node at \(1\), on the path of class 1, has no branch 0",
        ),
    ],
)
def test_paths_that_are_no_tree(paths: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tree_from_paths(paths)
