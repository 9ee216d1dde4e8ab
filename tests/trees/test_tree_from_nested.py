"""Nested lists as trees, and lists that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.trees import SoftmaxTree, tree_from_nested


def test_numbers_are_in_pre_order() -> None:
    assert tree_from_nested([[1, 0], [3, [2, 4]]]) == SoftmaxTree([1, 2, ~1, ~0, ~3, 3, ~2, ~4], [0, 2, 4, 6, 8])


def test_tuples_and_numpy_integers() -> None:
    assert tree_from_nested(((np.int64(1), np.uint8(0)), 2)).to_nested() == [[1, 0], 2]
    assert tree_from_nested(np.int32(0)) == tree_from_nested(0) == SoftmaxTree([], [0])


@pytest.mark.parametrize(
    ("nested", "error", "message"),
    [
        (["a", 0], TypeError, r"tree_from_nested wants lists of lists and classes, .* but 'a' \(str\) is among them"),
        ([0, True], TypeError, r"True \(bool\)"),
        ([0, -1], TypeError, r"integers of at least 0, but -1 \(int\)"),
        ([0, 1.0], TypeError, r"1\.0 \(float\)"),
        (1, ValueError, "tree_from_nested wants the one class of a tree to be 0, but 1 came"),
        ([0], ValueError, "node 0 has 1"),
        ([], ValueError, "node 0 has 0"),
        ([0, [1, []]], ValueError, "node 2 has 0"),
        ([0, [1, 3]], ValueError, "class 2 is missing, and the largest class is 3"),
        ([0, [1, 0]], ValueError, "class 0 stands twice, below the nodes 0 and 1"),
    ],
)
def test_what_is_no_tree(nested: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tree_from_nested(nested)
