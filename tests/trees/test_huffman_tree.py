"""Huffman's tree is the best there is, whatever the arity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import huffman_tree

from ..oracles.trees import huffman_cost, least_cost
from .strategies import COUNTS


@given(COUNTS, st.integers(2, 6))
def test_expected_length_is_least(counts: list[int], arity: int) -> None:
    tree = huffman_tree(counts, arity)
    assert (np.array(counts) * tree.depths).sum() == huffman_cost(counts, arity)
    assert tree.arities.max(initial=0) <= arity
    assert (tree.arities < arity).sum() <= 1


@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("counts", [(1, 2, 3, 4, 5), (0, 0, 1, 7), (3, 3, 3, 3, 3), (1, 1, 2, 9)])
def test_no_tree_at_all_is_better(counts: tuple[int, ...], arity: int) -> None:
    assert (counts * huffman_tree(counts, arity).depths).sum() == least_cost(counts, arity)


@given(COUNTS)
def test_numbers_go_from_frequent_to_rare(counts: list[int]) -> None:
    tree = huffman_tree(counts)
    below = np.zeros(tree.n_nodes)
    for c, class_count in enumerate(counts):
        below[tree.path(c)[0]] += class_count
    assert (np.diff(below) <= 0).all()


def test_equal_counts_keep_paths_short() -> None:
    for n_classes in (8, 11):
        for counts in (n_classes, np.zeros(n_classes)):
            assert huffman_tree(counts).max_depth == int(np.ceil(np.log2(n_classes)))
    assert huffman_tree([4, 4, 4, 4]).to_nested() == huffman_tree(4).to_nested() == [[3, 2], [1, 0]]
