"""Counts of colliding words, checked against HashEmbeddingBag."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.inspection import _collision_counts
from sklearn_hashnlp.inspection._collision_counts import (
    KINDS,
    N_COLUMNS,
    count_collisions,
    count_in_columns,
    embedding_ids,
    trials_needed,
)
from sklearn_hashnlp.inspection._collision_statistics import TableSizes, expected_pairs
from sklearn_hashnlp.nn import HashEmbeddingBag


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=20))
def test_colliding_pairs_and_words_are_counted(collision_ids: list[int]) -> None:
    counted = count_collisions(np.array(collision_ids, dtype=np.int64))
    pairs = sum(one == other for one, other in combinations(collision_ids, 2))
    sharing = sum(count for count in Counter(collision_ids).values() if count > 1)
    assert counted == (1, pairs, pairs**2, sharing, sharing**2)


@pytest.mark.parametrize("variant", ["improved", "paper"])
@pytest.mark.parametrize("sizes", [TableSizes(7, 5, 2), TableSizes(4, 3, 3), TableSizes(30, 20, 1)])
def test_words_collide_as_in_the_layer(variant: str, sizes: TableSizes) -> None:
    ids = np.random.default_rng(0).choice(N_COLUMNS, 200, replace=False)
    layer = HashEmbeddingBag(
        sizes.n_embeddings, 2, num_buckets=sizes.n_buckets, num_hashes=sizes.n_hashes, variant=variant, seed=9
    )
    rows, slots = layer.locate(torch.from_numpy(ids))
    found = [(row, tuple(slot)) for row, slot in zip(rows.tolist(), slots.tolist(), strict=True)]
    expected = {
        "embedding": found,
        "any order": [(row, tuple(sorted(slot))) for row, slot in found],
        "components": [slot for _, slot in found],
    }
    collision_ids = embedding_ids(variant, sizes, ids, seed=9)
    assert tuple(collision_ids) == KINDS[variant]
    for kind, numbers in collision_ids.items():
        assert _same(numbers.tolist()) == _same(expected[kind])
    if variant == "paper":
        assert _same(expected["any order"]) == _same(expected["embedding"])


def _same(values: list[object]) -> list[int]:
    """Replace each value by the index of its first occurrence."""
    firsts: dict[object, int] = {}
    return [firsts.setdefault(value, index) for index, value in enumerate(values)]


def test_ids_beyond_int64_are_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.arange(2000)
    sizes = TableSizes(2**31 - 1, 2**31 - 1, 3)
    assert len(set(embedding_ids("improved", sizes, ids, seed=0)["embedding"].tolist())) == 2000
    columns, combined = [np.array([5, 5, 6, 5]), np.array([1, 1, 1, 2]), np.array([3, 3, 3, 3])], [0, 0, 2, 3]
    for limit in (2**63, 1):
        monkeypatch.setattr(_collision_counts, "_LIMIT", limit)
        assert _same(_collision_counts._combine(columns, [7, 7, 7]).tolist()) == combined


def test_columns_equal_the_columns_of_the_vectorizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_collision_counts, "N_COLUMNS", 5000)
    counts = count_in_columns(1000, 10, np.random.SeedSequence(2))
    assert counts.pairs / 10 == pytest.approx(expected_pairs(1000, 1 / 5000), rel=0.15)
    assert counts == count_in_columns(1000, 10, np.random.SeedSequence(2))


def test_the_number_of_trials_depends_on_pairs_and_words_and_is_at_least_two() -> None:
    assert trials_needed(100, 2.0, pairs=100, max_words=10**6, min_trials=3) == 50
    assert trials_needed(100, 2.0, pairs=100, max_words=1000, min_trials=3) == 10
    assert trials_needed(100, 2.0, pairs=1, max_words=1000, min_trials=3) == 3
    assert trials_needed(100, 2.0, pairs=1, max_words=1000, min_trials=0) == 2
