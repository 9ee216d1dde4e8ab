"""Balanced trees are as shallow as can be."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import balanced_tree, tree_from_nested


def dealt(start: int, size: int, arity: int) -> Any:
    """The slow way: larger parts first."""
    if size == 1:
        return start
    n_parts = min(arity, size)
    parts = []
    for part in range(n_parts):
        part_size = size // n_parts + (part < size % n_parts)
        parts.append(dealt(start, part_size, arity))
        start += part_size
    return parts


@given(st.integers(1, 200), st.integers(2, 9))
def test_classes_are_dealt_out_evenly(n_classes: int, arity: int) -> None:
    tree = balanced_tree(n_classes, arity)
    assert tree == tree_from_nested(dealt(0, n_classes, arity))
    reach, depth = 1, 0
    while reach < n_classes:
        reach, depth = reach * arity, depth + 1
    assert tree.max_depth == depth
