"""Balanced, complete and random trees against slow recursion and the reference implementations' arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import balanced_tree, complete_tree, random_tree, tree_from_nested

from ..oracles.trees import balanced_lists, complete_path, merged_neighbors


@given(st.integers(1, 200), st.integers(2, 9))
def test_a_balanced_tree_distributes_its_classes_evenly(n_classes: int, arity: int) -> None:
    tree = balanced_tree(n_classes, arity)
    assert tree == tree_from_nested(balanced_lists(0, n_classes, arity))
    reach, depth = 1, 0
    while reach < n_classes:
        reach, depth = reach * arity, depth + 1
    assert tree.max_depth == depth


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 8, 10, 13, 10000])
def test_a_complete_tree_has_the_paths_of_paddle(n_classes: int) -> None:
    tree = complete_tree(n_classes)
    assert tree.is_binary
    assert tree.n_nodes == n_classes - 1
    offsets, nodes, branches = tree.paths()
    for c in range(n_classes):
        row = slice(offsets[c], offsets[c + 1])
        assert (nodes[row][::-1].tolist(), branches[row][::-1].tolist()) == complete_path(c, n_classes)


def test_a_complete_tree_depends_on_the_number_of_counts_alone() -> None:
    assert complete_tree([5, 0, 1]) == complete_tree(3) == complete_tree(np.int64(3))


@given(st.integers(2, 100), st.integers(0, 2**32))
def test_a_random_tree_merges_neighbors_after_a_shuffle(n_classes: int, seed: int) -> None:
    tree = random_tree(n_classes, random_state=seed)
    shuffled = np.random.default_rng(seed).permutation(n_classes).tolist()
    assert tree == tree_from_nested(merged_neighbors(shuffled))


def test_the_seed_of_a_random_tree() -> None:
    tree = random_tree(50, random_state=3)
    assert random_tree(50, random_state=np.random.default_rng(3)) == tree
    assert random_tree(50, random_state=4) != tree
    assert random_tree(50) != random_tree(50)
    old = [random_tree(50, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert old[0] == old[1]
    with pytest.raises(TypeError, match=r"random_tree: random_state must be None, .* got 'three'"):
        random_tree(5, random_state="three")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"random_state must be at least 0, got -1"):
        random_tree(5, random_state=-1)
