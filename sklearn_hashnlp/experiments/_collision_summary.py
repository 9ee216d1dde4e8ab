"""Counts of colliding words beside what is expected of them."""

from __future__ import annotations

import math
from typing import NamedTuple

from sklearn_hashnlp.experiments._collision_formulas import expected_pairs, sharing_chance


class Counted(NamedTuple):
    """Sums over trials.

    Parameters
    ----------
    n_trials : int, default=0
        How many trials.
    pairs : int, default=0
        Pairs of words that share something.
    squared_pairs : int, default=0
        Sum of the squares of a trial's pairs.
    sharing_words : int, default=0
        Words that share it with any other.
    squared_sharing_words : int, default=0
        Sum of the squares of a trial's sharing words.

    Examples
    --------
    >>> Counted(n_trials=1, pairs=3).plus(Counted(n_trials=1, pairs=2)).pairs
    5
    """

    n_trials: int = 0
    pairs: int = 0
    squared_pairs: int = 0
    sharing_words: int = 0
    squared_sharing_words: int = 0

    def plus(self, other: Counted) -> Counted:
        """Take the trials of another together with these.

        Parameters
        ----------
        other : Counted
            Of other trials of the same kind.

        Returns
        -------
        Counted
            The sums of both.
        """
        return Counted(*(own + more for own, more in zip(self, other, strict=True)))


class Summary(NamedTuple):
    """What a trial has on average, beside what is expected.

    Parameters
    ----------
    expected_pairs : float
        V (V - 1) / 2 q.
    mean_pairs : float
        Counted.
    low_pairs, high_pairs : float
        Ends of the 95 % confidence interval of the mean.
    z : float
        Standard errors between the mean and what is expected. Of mean 0 and deviation 1 if the formula holds, and
        normal where many pairs are expected.
    p_value : float
        Probability that the mean is at least so far from what is expected, if the formula holds: two-sided and exact,
        as the interval is.
    expected_dispersion : float
        Variance of a trial's pairs over their mean, for random hash functions.
    dispersion : float or None
        The same, counted; None where no pair was.
    expected_sharing : float
        Share of words that share with any other: 1 - (1 - q)^(V - 1), as if pairs were independent.
    mean_sharing : float
        Counted.
    low_sharing, high_sharing : float
        Ends of the 95 % confidence interval of that mean.
    """

    expected_pairs: float
    mean_pairs: float
    low_pairs: float
    high_pairs: float
    z: float
    p_value: float
    expected_dispersion: float
    dispersion: float | None
    expected_sharing: float
    mean_sharing: float
    low_sharing: float
    high_sharing: float


def summarize(counted: Counted, *, n_words: int, chance: float, expected_dispersion: float) -> Summary:
    """Set counts beside what is expected.

    The interval of the pairs is that of a Poisson distribution, exact, widened where a trial's pairs are known to vary
    more: c pairs of dispersion f tell as much as c / f pairs of dispersion 1. That of the sharing words is the mean
    and 1.96 standard errors, from the spread of the trials.

    Parameters
    ----------
    counted : Counted
        Sums over two trials or more.
    n_words : int
        Different words of a trial; V.
    chance : float
        Probability that two words share; q.
    expected_dispersion : float
        Of the pairs, as :func:`pair_dispersion` gives it.

    Returns
    -------
    Summary
        Means, intervals and the distance from the formula.

    Examples
    --------
    >>> counted = Counted(n_trials=100, pairs=520, squared_pairs=3200, sharing_words=1000, squared_sharing_words=12000)
    >>> summary = summarize(counted, n_words=101, chance=0.001, expected_dispersion=1.0)
    >>> summary.mean_pairs, round(summary.low_pairs, 2), round(summary.high_pairs, 2), round(summary.z, 2)
    (5.2, 4.76, 5.67, 0.67)
    """
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
    """Give mean and variance; whole numbers are subtracted, so that none is lost."""
    return total / trials, (trials * squares - total**2) / (trials * (trials - 1))


def poisson_interval(count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Give the exact confidence interval of the mean of a Poisson distribution, from one count.

    Parameters
    ----------
    count : float
        What was counted. A fraction interpolates.
    confidence : float, default=0.95
        Probability that the interval holds the mean, at least.

    Returns
    -------
    low, high : float
        Its ends.

    References
    ----------
    F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936.

    Examples
    --------
    >>> [round(end, 3) for end in poisson_interval(10)]
    [4.795, 18.39]
    """
    from scipy.stats import chi2

    low = float(chi2.ppf((1 - confidence) / 2, 2 * count)) / 2 if count else 0.0
    return low, float(chi2.ppf((1 + confidence) / 2, 2 * count + 2)) / 2


def poisson_p_value(count: float, mean: float) -> float:
    """Test whether a count is of a Poisson distribution of a given mean.

    Parameters
    ----------
    count : float
        What was counted. A fraction interpolates.
    mean : float
        What is expected.

    Returns
    -------
    float
        Twice the smaller of the probabilities of at most the count and of at least the count, and 1 at most: less than
        0.05 where :func:`poisson_interval` of the count does not hold the mean.

    Examples
    --------
    >>> round(poisson_p_value(0, 3.0), 3)  # 2 exp(-3)
    0.1
    """
    from scipy.special import gammainc, gammaincc

    at_least = float(gammainc(count, mean)) if count else 1.0
    return min(2 * min(float(gammaincc(count + 1, mean)), at_least), 1.0)
