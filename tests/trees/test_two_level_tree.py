"""Trees of two levels, whose groups have similar frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees import two_level_tree

from .strategies import COUNTS


@given(COUNTS, st.data())
def test_groups_are_runs_by_frequency(counts: list[int], data: st.DataObject) -> None:
    n_groups = data.draw(st.none() | st.integers(1, len(counts)))
    tree = two_level_tree(counts, n_groups)
    assert tree.max_depth <= 2
    if n_groups is not None and n_groups > 1:
        assert 1 <= tree.arities[0] <= max(n_groups, 2) if tree.n_nodes == 1 else tree.arities[0] <= n_groups
    nested = tree.to_nested()
    groups = [group if isinstance(group, list) else [group] for group in (nested if tree.n_nodes else [nested])]
    row = [c for group in groups for c in group]
    assert row == sorted(range(len(counts)), key=lambda c: (-counts[c], c))


def test_sums_of_square_roots_are_nearly_equal() -> None:
    counts = 10**7 // np.arange(1, 2001)
    tree = two_level_tree(counts, 40)
    groups = [group if isinstance(group, list) else [group] for group in tree.to_nested()]
    sums = [np.sqrt(counts[group]).sum() for group in groups]
    largest = np.sqrt(counts[0])
    assert max(sums) - min(sums) <= 2 * largest
    assert len(groups) == 40


def test_default_has_the_fewest_scores() -> None:
    assert two_level_tree(10_000).arities.tolist() == [100] * 101
    counts = 10**7 // np.arange(1, 2001)
    best = min(two_level_tree(counts, n_groups).expected_cost(counts) for n_groups in range(5, 80))
    assert two_level_tree(counts).expected_cost(counts) <= 1.02 * best
    # Groups of equal size cost more.
    assert best < 0.8 * (two_level_tree(2000).expected_cost(counts))


def test_single_classes_are_children_of_the_root() -> None:
    assert two_level_tree([100, 1, 1, 1, 1], 3).to_nested() == [0, [1, 2, 3, 4]]
    assert two_level_tree(4, 4).to_nested() == two_level_tree(4, 1).to_nested() == [0, 1, 2, 3]


@pytest.mark.parametrize("n_groups", [0, 4, 2.5, True])
def test_wrong_numbers_of_groups(n_groups: Any) -> None:
    with pytest.raises(ValueError, match=rf"two_level_tree: n_groups must be in 1\.\.3, .* got {n_groups}"):
        two_level_tree(3, n_groups)
