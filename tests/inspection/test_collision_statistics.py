"""Expected collisions, checked by enumeration of all hash functions of tiny sizes, and their comparison with counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sklearn_hashnlp.inspection._collision_counts import count_collisions
from sklearn_hashnlp.inspection._collision_statistics import (
    CollisionCounts,
    TableSizes,
    any_order_probability,
    expected_pairs,
    pair_dispersion,
    pair_probability,
    poisson_interval,
    poisson_p_value,
    reference_bound,
    sharing_probability,
    summarize,
)

KINDS = [(variant, kind) for variant in ("improved", "paper") for kind in ("embedding", "components", "any order")]


def embeddings(variant: str, sizes: TableSizes, n_words: int) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
    """Yield the rows and slots of all words, for all hash functions."""
    n, buckets, hashes = sizes
    choices = list(product(range(buckets), repeat=hashes))
    for rows in product(range(n), repeat=n_words):
        for slots in product(choices, repeat=n_words if variant == "improved" else n):
            yield [(row, slots[word] if variant == "improved" else slots[row]) for word, row in enumerate(rows)]


def shared_pairs(kind: str, words: list[tuple[int, tuple[int, ...]]]) -> int:
    key = {
        "embedding": lambda word: word,
        "components": lambda word: word[1],
        "any order": lambda word: (word[0], sorted(word[1])),
    }[kind]
    return sum(key(one) == key(other) for one, other in combinations(words, 2))


@pytest.mark.parametrize(("variant", "kind"), KINDS)
@pytest.mark.parametrize(
    ("sizes", "n_words"), [(TableSizes(2, 2, 2), 2), (TableSizes(3, 2, 1), 3), (TableSizes(2, 3, 1), 4)]
)
def test_mean_and_dispersion_equal_the_enumeration_of_all_hash_functions(
    variant: str, kind: str, sizes: TableSizes, n_words: int
) -> None:
    counts = [shared_pairs(kind, words) for words in embeddings(variant, sizes, n_words)]
    mean = Fraction(sum(counts), len(counts))
    variance = Fraction(sum(count**2 for count in counts), len(counts)) - mean**2
    assert expected_pairs(n_words, pair_probability(variant, kind, sizes)) == pytest.approx(float(mean))
    if (variant, kind) != ("improved", "any order") or sizes.n_hashes == 1:
        assert pair_dispersion(variant, kind, n_words, sizes) == pytest.approx(float(variance / mean))


@given(st.integers(2, 4), st.integers(1, 3))
def test_orders_are_counted(buckets: int, hashes: int) -> None:
    picks = [sorted(pick) for pick in product(range(buckets), repeat=hashes)]
    same = sum(one == other for one in picks for other in picks)
    assert any_order_probability(buckets, hashes) == pytest.approx(same / len(picks) ** 2)


@pytest.mark.parametrize("variant", ["improved", "paper"])
@pytest.mark.parametrize(
    ("sizes", "n_words"), [(TableSizes(2, 2, 1), 3), (TableSizes(3, 3, 1), 3), (TableSizes(3, 2, 1), 4)]
)
def test_the_references_formulas_are_upper_bounds(variant: str, sizes: TableSizes, n_words: int) -> None:
    outcomes = list(embeddings(variant, sizes, n_words))
    # The paper's counts words whose components alone are shared, too.
    share = Fraction(
        sum(
            any(words[0] == other or (variant == "paper" and words[0][1] == other[1]) for other in words[1:])
            for words in outcomes
        ),
        len(outcomes),
    )
    assert float(share) <= reference_bound(variant, n_words, sizes) + 1e-12
    assert float(share) > 0


def test_the_references_example_and_a_small_case() -> None:
    great, small = TableSizes.parse("10000000:1000000:2"), TableSizes.parse("500:30:2")
    q = pair_probability("improved", "embedding", great)
    assert q == 1e-19
    assert expected_pairs(10**9, q) == pytest.approx(0.05)
    assert sharing_probability(10**9, q) == pytest.approx(1e-10)
    assert reference_bound("improved", 10**9, great) == pytest.approx(0.0010, abs=5e-5)
    assert reference_bound("paper", 10**9, great) == pytest.approx(1)
    assert pair_probability("paper", "components", small) == pytest.approx(1 / 500 + (1 - 1 / 500) / 900)
    assert sharing_probability(4000, pair_probability("improved", "embedding", small)) == pytest.approx(
        0.0088, abs=5e-5
    )
    assert reference_bound("improved", 4000, small) == pytest.approx(0.988, abs=5e-4)


def test_one_word_collides_with_none_and_certain_collisions_are_certain() -> None:
    assert (expected_pairs(1, 0.5), sharing_probability(1, 0.5), sharing_probability(1, 1.0)) == (0, 0, 0)
    assert sharing_probability(2, 1.0) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "500:30", "500:30:2:1", "500:30:x", "1:30:2", "500:1:2", "500:30:0"),
        *("2147483648:30:2", "500:2147483648:2", "500:30:31"),
    ],
)
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"n:B:k, such as 500:30:2, .* got '{text}'"):
        TableSizes.parse(text)


def test_moments_equal_the_moments_of_the_trials() -> None:
    generator = np.random.default_rng(0)
    trials = [count_collisions(generator.integers(40, size=20)) for _ in range(50)]
    counts = CollisionCounts()
    for trial in trials:
        counts = counts.plus(trial)
    summary = summarize(counts, n_words=20, probability=1 / 40, expected_dispersion=2.0)
    pairs = np.array([trial.pairs for trial in trials])
    shares = np.array([trial.sharing_words for trial in trials]) / 20
    assert summary.mean_pairs == pytest.approx(pairs.mean())
    assert summary.dispersion == pytest.approx(pairs.var(ddof=1) / pairs.mean())
    assert summary.mean_sharing == pytest.approx(shares.mean())
    half = 1.96 * stats.sem(shares)
    assert (summary.low_sharing, summary.high_sharing) == pytest.approx((shares.mean() - half, shares.mean() + half))
    assert summary.expected_pairs == pytest.approx(190 / 40)
    assert summary.expected_sharing == pytest.approx(1 - (39 / 40) ** 19)
    assert summary.z == pytest.approx((pairs.mean() - 190 / 40) / np.sqrt(2.0 * 190 / 40 / 50))


def test_a_larger_dispersion_widens_the_interval_by_its_root() -> None:
    counts = CollisionCounts(100, 10_000, 1_010_000, 5000, 260_000)
    narrow, wide = (summarize(counts, n_words=201, probability=0.0049, expected_dispersion=f) for f in (1.0, 4.0))
    assert wide.high_pairs - wide.low_pairs == pytest.approx(2 * (narrow.high_pairs - narrow.low_pairs), rel=0.01)
    assert narrow.z == pytest.approx(2 * wide.z)
    assert wide.z > 0


@pytest.mark.parametrize("count", [1, 10, 300])
def test_the_ends_are_means_with_tail_probabilities_of_the_level(count: int) -> None:
    low, high = poisson_interval(count)
    assert stats.poisson.sf(count - 1, low) == pytest.approx(0.025)
    assert stats.poisson.cdf(count, high) == pytest.approx(0.025)


@pytest.mark.parametrize(("count", "mean"), [(0, 3.0), (4, 3.0), (12, 3.0), (980, 1000.0), (1, 0.003)])
def test_the_p_value_is_twice_the_lesser_tail(count: int, mean: float) -> None:
    tails = stats.poisson.cdf(count, mean), stats.poisson.sf(count - 1, mean)
    assert poisson_p_value(count, mean) == pytest.approx(min(2 * min(tails), 1))
    low, high = poisson_interval(count)
    assert (low <= mean <= high) == (poisson_p_value(count, mean) >= 0.05)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"out of .*got \('standard', 'embedding'\)"):
        pair_probability("standard", "embedding", TableSizes(2, 2, 2))
