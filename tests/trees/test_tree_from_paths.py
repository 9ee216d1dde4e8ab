"""Path tables as trees, and tables that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from sklearn_hashnlp.trees import SoftmaxTree, tree_from_nested, tree_from_paths

from .strategies import nested_trees


@given(nested_trees())
def test_paths_give_the_tree_again(nested: Any) -> None:
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


def test_one_class() -> None:
    assert tree_from_paths([()]) == SoftmaxTree([], [0])


@pytest.mark.parametrize(
    ("paths", "error", "message"),
    [
        ([], ValueError, "wants the path of one class or more, but no path came"),
        ([(0,), (1.0,)], TypeError, "cannot be interpreted as an integer"),
        ([(0,), (-1,)], ValueError, r"fewer than the 2 classes, but the path of class 1 holds -1"),
        ([(0, 2), (0, 1)], ValueError, r"fewer than the 2 classes, but the path of class 0 holds 2"),
        ([(0,), ()], ValueError, r"the path of class 1, \(\), is that of class 0"),
        ([(), ()], ValueError, r"the path of class 0, \(\), is that of class 1"),
        ([(0, 1), (0, 0), (1,), (0, 1)], ValueError, r"the path of class 0, \(0, 1\), is that of class 3"),
        ([(0,), (1,), (0, 1)], ValueError, r"the path of class 0, \(0\), is that of class 2 or its beginning"),
        ([(0,), (2,), (2, 1)], ValueError, r"the one at \(\), on the path of class 1, has no branch 1"),
        ([(0,), (1, 1), (1, 2)], ValueError, r"the one at \(1\), on the path of class 1, has no branch 0"),
        ([(0,), (1, 0)], ValueError, "node 1 has 1"),
    ],
)
def test_what_is_no_tree(paths: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tree_from_paths(paths)
