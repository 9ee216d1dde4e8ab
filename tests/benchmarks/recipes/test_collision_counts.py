"""Counts of colliding words, checked against HashEmbeddingBag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.recipes.collisions import counts
from benchmarks.recipes.collisions.counts import (
    N_COLUMNS,
    TableSizes,
    count_collisions,
    expected_pairs,
    ids_by_constants,
    pair_probability,
    seeded_constants,
    sharing_probability,
)
from sklearn_hashnlp.nn import HashEmbeddingBag


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=20))
def test_colliding_pairs_and_words_are_counted(collision_ids: list[int]) -> None:
    counted = count_collisions(np.array(collision_ids, dtype=np.int64))
    pairs = sum(one == other for one, other in combinations(collision_ids, 2))
    sharing = sum(count for count in Counter(collision_ids).values() if count > 1)
    assert counted == (pairs, sharing)


@pytest.mark.parametrize("variant", ["improved", "paper"])
@pytest.mark.parametrize("sizes", [TableSizes(7, 5, 2), TableSizes(4, 3, 3), TableSizes(30, 20, 1)])
def test_words_collide_as_in_the_layer(variant: str, sizes: TableSizes) -> None:
    ids = np.random.default_rng(0).choice(N_COLUMNS, 200, replace=False)
    layer = HashEmbeddingBag(
        sizes.n_embeddings,
        2,
        num_buckets=sizes.n_buckets,
        num_hashes=sizes.n_hashes,
        variant=variant,
        seed=9,
    )
    rows, slots = layer.locate(torch.from_numpy(ids))
    found = [(row, tuple(slot)) for row, slot in zip(rows.tolist(), slots.tolist(), strict=True)]
    expected = {
        "embedding": found,
        "components": [slot for _, slot in found],
    }
    collision_ids = ids_by_constants(variant, sizes, ids, seeded_constants(sizes, 9))
    assert tuple(collision_ids) == ("embedding", "components")
    for kind, numbers in collision_ids.items():
        assert _same(numbers.tolist()) == _same(expected[kind])


def _same(values: list[object]) -> list[int]:
    """Replace each value by the index of its first occurrence."""
    firsts: dict[object, int] = {}
    return [firsts.setdefault(value, index) for index, value in enumerate(values)]


def test_ids_beyond_int64_are_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.arange(2000)
    sizes = TableSizes(2**31 - 1, 2**31 - 1, 3)
    assert (
        len(
            set(
                ids_by_constants("improved", sizes, ids, seeded_constants(sizes, 0))[
                    "embedding"
                ].tolist()
            )
        )
        == 2000
    )
    columns, combined = (
        [np.array([5, 5, 6, 5]), np.array([1, 1, 1, 2]), np.array([3, 3, 3, 3])],
        [0, 0, 2, 3],
    )
    for limit in (2**63, 1):
        monkeypatch.setattr(counts, "_LIMIT", limit)
        assert _same(counts._combine(columns, [7, 7, 7]).tolist()) == combined


KINDS = [
    (variant, kind) for variant in ("improved", "paper") for kind in ("embedding", "components")
]


def embeddings(
    variant: str, sizes: TableSizes, n_words: int
) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
    """Yield the rows and slots of all words, for all hash functions."""
    n, buckets, hashes = sizes
    choices = list(product(range(buckets), repeat=hashes))
    for rows in product(range(n), repeat=n_words):
        for slots in product(choices, repeat=n_words if variant == "improved" else n):
            yield [
                (row, slots[word] if variant == "improved" else slots[row])
                for word, row in enumerate(rows)
            ]


def shared_pairs(kind: str, words: list[tuple[int, tuple[int, ...]]]) -> int:
    key = {
        "embedding": lambda word: word,
        "components": lambda word: word[1],
    }[kind]
    return sum(key(one) == key(other) for one, other in combinations(words, 2))


@pytest.mark.parametrize(("variant", "kind"), KINDS)
@pytest.mark.parametrize(
    ("sizes", "n_words"),
    [(TableSizes(2, 2, 2), 2), (TableSizes(3, 2, 1), 3), (TableSizes(2, 3, 1), 4)],
)
def test_the_mean_equals_the_enumeration_of_all_hash_functions(
    variant: str, kind: str, sizes: TableSizes, n_words: int
) -> None:
    counts = [shared_pairs(kind, words) for words in embeddings(variant, sizes, n_words)]
    mean = Fraction(sum(counts), len(counts))
    assert expected_pairs(n_words, pair_probability(variant, kind, sizes)) == pytest.approx(
        float(mean)
    )


def test_one_word_collides_with_none_and_certain_collisions_are_certain() -> None:
    assert (expected_pairs(1, 0.5), sharing_probability(1, 0.5), sharing_probability(1, 1.0)) == (
        0,
        0,
        0,
    )
    assert sharing_probability(2, 1.0) == 1
