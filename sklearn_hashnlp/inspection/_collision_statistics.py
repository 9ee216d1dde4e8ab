"""Expected collisions in a hash embedding, and how counted ones compare with them."""

from __future__ import annotations

import math
from typing import NamedTuple

_MIN_SIZE, _MAX_SIZE = 2, 2**31 - 1  # of tables, as in nn
_MAX_HASHES = 30  # so that n B^k is finite as a float


class TableSizes(NamedTuple):
    """Sizes of the tables of a hash embedding."""

    n_embeddings: int  # n: rows of the importance table, from 2 to 2**31 - 1
    n_buckets: int  # B: component vectors, from 2 to 2**31 - 1
    n_hashes: int  # k: component vectors of a word, from 1 to 30

    @classmethod
    def parse(cls, text: str) -> TableSizes:
        """Parse ``"n:B:k"``."""
        try:
            sizes = cls(*map(int, text.split(":")))
        except (TypeError, ValueError):
            sizes = cls(0, 0, 0)
        if not (min(sizes[:2]) >= _MIN_SIZE and max(sizes[:2]) <= _MAX_SIZE and 1 <= sizes.n_hashes <= _MAX_HASHES):
            raise ValueError(
                f"Sizes of tables must be given as n:B:k, such as 500:30:2, n and B from {_MIN_SIZE} to {_MAX_SIZE} "
                f"and k from 1 to {_MAX_HASHES}, got {text!r}."
            )
        return sizes

    @property
    def n_choices(self) -> int:
        """Number of ordered choices of k components: B^k."""
        choices: int = self.n_buckets**self.n_hashes
        return choices


def pair_probability(variant: str, kind: str, sizes: TableSizes) -> float:
    """Return the probability that two words collide in their embedding, their components, or these in any order."""
    row, choice = 1 / sizes.n_embeddings, 1 / sizes.n_choices
    probabilities = {
        ("improved", "embedding"): 1 / (sizes.n_embeddings * sizes.n_choices),
        ("improved", "components"): choice,
        ("improved", "any order"): row * any_order_probability(sizes.n_buckets, sizes.n_hashes),
        ("paper", "embedding"): row,
        ("paper", "components"): row + (1 - row) * choice,
        ("paper", "any order"): row,
    }
    if (variant, kind) not in probabilities:
        raise ValueError(
            f"Expected a variant and a kind of collision out of {sorted(probabilities)}, got {(variant, kind)}."
        )
    return probabilities[variant, kind]


def any_order_probability(n_buckets: int, n_hashes: int) -> float:
    """Return the probability that two words have the same components, each as often, in any order."""
    # It is (k! / B^k)^2 times the coefficient of x^k in (sum_j x^j / j!^2)^B. With x / B for x, all terms are near one.
    base = [1 / math.factorial(power) ** 2 / n_buckets**power for power in range(n_hashes + 1)]
    power_of_base, exponent = [1.0] + [0.0] * n_hashes, n_buckets
    while exponent:
        if exponent % 2:
            power_of_base = _truncated_product(power_of_base, base)
        base, exponent = _truncated_product(base, base), exponent // 2
    probability: float = power_of_base[-1] * math.factorial(n_hashes) ** 2 / n_buckets**n_hashes
    return probability


def _truncated_product(left: list[float], right: list[float]) -> list[float]:
    """Multiply two polynomials and drop the powers above their degree."""
    return [sum(left[i] * right[power - i] for i in range(power + 1)) for power in range(len(left))]


def expected_pairs(n_words: int, probability: float) -> float:
    """Return the expected number of colliding pairs of words."""
    return n_words * (n_words - 1) / 2 * probability


def sharing_probability(n_words: int, probability: float) -> float:
    """Return the probability that a word collides with any other, as if pairs were independent."""
    n_others = max(n_words - 1, 0)
    return -math.expm1(n_others * math.log1p(-probability)) if probability < 1 else float(n_others > 0)


def reference_bound(variant: str, n_words: int, sizes: TableSizes) -> float:
    """Return the reference's upper bound of the probability that a word collides with any other."""
    row = sharing_probability(n_words, 1 / sizes.n_embeddings)
    if variant == "improved":
        return row * sharing_probability(n_words, 1 / sizes.n_choices)
    return row + (1 - row) * sharing_probability(sizes.n_embeddings, 1 / sizes.n_choices)


def pair_dispersion(variant: str, kind: str, n_words: int, sizes: TableSizes) -> float:
    """Return the index of dispersion (variance over mean) of the number of colliding pairs, for random functions."""
    probability = pair_probability(variant, kind, sizes)
    dispersion = 1 - probability
    if (variant, kind) == ("paper", "components") and n_words > 1:
        # Covariances of two pairs that have a word in common, and of two that have none, times their numbers.
        n, words = sizes.n_embeddings, n_words
        common = (n - 1) / n**2
        disjoint = 2 * (n - 1) / n**3 * (words - 3) / 4
        spread = (1 - 1 / sizes.n_choices) / sizes.n_choices
        dispersion += 2 * (words - 2) * (common + disjoint) * spread / probability
    return dispersion


class CollisionCounts(NamedTuple):
    """Sums over trials."""

    n_trials: int = 0
    pairs: int = 0  # colliding pairs of words
    squared_pairs: int = 0  # sum of the squares of each trial's pairs
    sharing_words: int = 0  # words that collide with any other
    squared_sharing_words: int = 0  # sum of the squares of each trial's colliding words

    def plus(self, other: CollisionCounts) -> CollisionCounts:
        """Return the sums over the trials of both."""
        return CollisionCounts(*(own + more for own, more in zip(self, other, strict=True)))


class CollisionSummary(NamedTuple):
    """Means of a trial, with confidence intervals, and their expected values."""

    expected_pairs: float  # V (V - 1) / 2 q
    mean_pairs: float
    low_pairs: float
    high_pairs: float
    # (mean - expected) / standard error: of mean 0 and variance 1 if the formula holds, and normal if many pairs are
    # expected
    z: float
    p_value: float  # two-sided and exact, as the interval is
    expected_dispersion: float  # variance over mean of a trial's pairs, for random hash functions
    dispersion: float | None  # the same, counted; None without pairs
    expected_sharing: float  # share of colliding words: 1 - (1 - q)^(V - 1), as if pairs were independent
    mean_sharing: float
    low_sharing: float
    high_sharing: float


def summarize(
    counts: CollisionCounts, *, n_words: int, probability: float, expected_dispersion: float
) -> CollisionSummary:
    """Compare counted with expected collisions."""
    trials = counts.n_trials
    expected = expected_pairs(n_words, probability)
    mean, variance = _mean_and_variance(counts.pairs, counts.squared_pairs, trials)
    low, high = (end * expected_dispersion / trials for end in poisson_interval(counts.pairs / expected_dispersion))
    sharing, sharing_variance = _mean_and_variance(counts.sharing_words, counts.squared_sharing_words, trials)
    half = 1.96 * math.sqrt(sharing_variance / trials)
    return CollisionSummary(
        expected_pairs=expected,
        mean_pairs=mean,
        low_pairs=low,
        high_pairs=high,
        z=(mean - expected) / math.sqrt(expected * expected_dispersion / trials),
        p_value=poisson_p_value(counts.pairs / expected_dispersion, expected * trials / expected_dispersion),
        expected_dispersion=expected_dispersion,
        dispersion=variance / mean if mean else None,
        expected_sharing=sharing_probability(n_words, probability),
        mean_sharing=sharing / n_words,
        low_sharing=max(sharing - half, 0.0) / n_words,
        high_sharing=(sharing + half) / n_words,
    )


def _mean_and_variance(total: int, squares: int, trials: int) -> tuple[float, float]:
    """Return mean and variance; the difference is one of integers, so that no digits cancel."""
    return total / trials, (trials * squares - total**2) / (trials * (trials - 1))


def poisson_interval(count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of the mean of a Poisson distribution, from one count."""
    from scipy.stats import chi2

    low = float(chi2.ppf((1 - confidence) / 2, 2 * count)) / 2 if count else 0.0
    return low, float(chi2.ppf((1 + confidence) / 2, 2 * count + 2)) / 2


def poisson_p_value(count: float, mean: float) -> float:
    """Return the two-sided p-value of a count from a Poisson distribution with a given mean."""
    from scipy.special import gammainc, gammaincc

    at_least = float(gammainc(count, mean)) if count else 1.0
    return min(2 * min(float(gammaincc(count + 1, mean)), at_least), 1.0)
