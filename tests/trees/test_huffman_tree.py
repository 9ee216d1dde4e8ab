"""Huffman's tree is the best there is, whatever the arity."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import huffman_tree

from .strategies import COUNTS


def least_cost(counts: list[int], arity: int) -> int:
    """Huffman's algorithm with a heap: classes of weight zero fill up, and the sum of all joins is the cost."""
    heap = [*counts, *[0] * (-(len(counts) - 1) % (arity - 1))]
    heapq.heapify(heap)
    cost = 0
    while len(heap) > 1:
        weight = sum(heapq.heappop(heap) for _ in range(arity))
        cost += weight
        heapq.heappush(heap, weight)
    return cost


def least_cost_of_all_trees(counts: tuple[int, ...], arity: int) -> int:
    """Try every way to join any classes, without Huffman's idea."""
    if len(counts) == 1:
        return 0
    best = None
    for mask in range(1, 2 ** len(counts)):
        size = mask.bit_count()
        if not 2 <= size <= arity:
            continue
        weight = sum(c for i, c in enumerate(counts) if mask >> i & 1)
        rest = tuple(sorted([c for i, c in enumerate(counts) if not mask >> i & 1] + [weight]))
        cost = weight + least_cost_of_all_trees(rest, arity)
        best = cost if best is None else min(best, cost)
    assert best is not None
    return best


@given(COUNTS, st.integers(2, 6))
def test_expected_length_is_least(counts: list[int], arity: int) -> None:
    tree = huffman_tree(counts, arity)
    assert (np.array(counts) * tree.depths).sum() == least_cost(counts, arity)
    assert tree.arities.max(initial=0) <= arity
    assert (tree.arities < arity).sum() <= 1


@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("counts", [(1, 2, 3, 4, 5), (0, 0, 1, 7), (3, 3, 3, 3, 3), (1, 1, 2, 9)])
def test_no_tree_at_all_is_better(counts: tuple[int, ...], arity: int) -> None:
    assert (counts * huffman_tree(counts, arity).depths).sum() == least_cost_of_all_trees(counts, arity)


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
