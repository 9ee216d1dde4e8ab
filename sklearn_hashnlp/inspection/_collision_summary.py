"""Counts of colliding words beside what is expected of them."""

from __future__ import annotations

import math
from typing import NamedTuple

from sklearn_hashnlp.inspection._collision_formulas import expected_pairs, sharing_chance


class Counted(NamedTuple):
    """Sums over trials."""

    n_trials: int = 0  # how many trials
    pairs: int = 0  # pairs of words that share something
    squared_pairs: int = 0  # sum of the squares of a trial's pairs
    sharing_words: int = 0  # words that share it with any other
    squared_sharing_words: int = 0  # sum of the squares of a trial's sharing words

    def plus(self, other: Counted) -> Counted:
        """Take the trials of another together with these."""
        return Counted(*(own + more for own, more in zip(self, other, strict=True)))


class Summary(NamedTuple):
    """What a trial has on average, beside what is expected."""

    expected_pairs: float  # v (V - 1) / 2 q
    mean_pairs: float  # counted
    low_pairs: float
    high_pairs: float
    # Standard errors between the mean and what is expected. Of mean 0 and deviation 1 if the formula holds, and normal
    # where many pairs are expected
    z: float
    # Probability that the mean is at least so far from what is expected, if the formula holds: two-sided and exact, as
    # the interval is
    p_value: float
    expected_dispersion: float  # variance of a trial's pairs over their mean, for random hash functions
    dispersion: float | None  # the same, counted; None where no pair was
    # Share of words that share with any other: 1 - (1 - q)^(V - 1), as if pairs were independent
    expected_sharing: float
    mean_sharing: float  # counted
    low_sharing: float
    high_sharing: float


def summarize(counted: Counted, *, n_words: int, chance: float, expected_dispersion: float) -> Summary:
    """Set counts beside what is expected."""
    trials = counted.n_trials
    expected = expected_pairs(n_words, chance)
    mean, variance = _moments(counted.pairs, counted.squared_pairs, trials)
    low, high = (end * expected_dispersion / trials for end in poisson_interval(counted.pairs / expected_dispersion))
    sharing, sharing_variance = _moments(counted.sharing_words, counted.squared_sharing_words, trials)
    half = 1.96 * math.sqrt(sharing_variance / trials)
    return Summary(
        expected_pairs=expected,
        mean_pairs=mean,
        low_pairs=low,
        high_pairs=high,
        z=(mean - expected) / math.sqrt(expected * expected_dispersion / trials),
        p_value=poisson_p_value(counted.pairs / expected_dispersion, expected * trials / expected_dispersion),
        expected_dispersion=expected_dispersion,
        dispersion=variance / mean if mean else None,
        expected_sharing=sharing_chance(n_words, chance),
        mean_sharing=sharing / n_words,
        low_sharing=max(sharing - half, 0.0) / n_words,
        high_sharing=(sharing + half) / n_words,
    )


def _moments(total: int, squares: int, trials: int) -> tuple[float, float]:
    """Return mean and variance; whole numbers are subtracted, so that none is lost."""
    return total / trials, (trials * squares - total**2) / (trials * (trials - 1))


def poisson_interval(count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of the mean of a Poisson distribution, from one count."""
    from scipy.stats import chi2

    low = float(chi2.ppf((1 - confidence) / 2, 2 * count)) / 2 if count else 0.0
    return low, float(chi2.ppf((1 + confidence) / 2, 2 * count + 2)) / 2


def poisson_p_value(count: float, mean: float) -> float:
    """Test whether a count is of a Poisson distribution of a given mean."""
    from scipy.special import gammainc, gammaincc

    at_least = float(gammainc(count, mean)) if count else 1.0
    return min(2 * min(float(gammaincc(count + 1, mean)), at_least), 1.0)
