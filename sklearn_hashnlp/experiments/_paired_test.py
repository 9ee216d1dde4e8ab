"""Whether settings differ that were measured with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_PAIRS = 20  # 2**20 flips take a second


class PairedComparison(NamedTuple):
    """What a comparison came to.

    Parameters
    ----------
    first, second : str
        Names of what was compared.
    difference : float
        Mean of first minus second.
    low, high : float
        Ends of its confidence interval, by Student's t.
    p_value : float
        Of the exact permutation test, for this comparison alone.
    corrected_p_value : float
        The same, by Holm's method, for all comparisons that were made together.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    corrected_p_value: float


def compare_paired(
    measured: Mapping[str, Sequence[float]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    confidence: float = 0.95,
) -> list[PairedComparison]:
    """Compare settings that were measured with the same seeds.

    Parameters
    ----------
    measured : mapping of str to sequence of float of length n_seeds
        A value a seed, the seeds in the same order everywhere.
    pairs : sequence of (str, str), default=None
        What is compared with what; by default each with each that comes after it.
    confidence : float, default=0.95
        Of the intervals, each by itself.

    Returns
    -------
    list of PairedComparison
        One a pair, in their order.

    Raises
    ------
    ValueError
        If a setting has another number of values than the others, or a pair one that was not measured, or as
        :func:`sign_flip_p_value`.

    Examples
    --------
    >>> measured = {"hash": [0.92, 0.93, 0.92, 0.94], "standard": [0.90, 0.91, 0.91, 0.92]}
    >>> (comparison,) = compare_paired(measured)
    >>> round(comparison.difference, 4), round(comparison.low, 4), round(comparison.high, 4), comparison.p_value
    (0.0175, 0.0095, 0.0255, 0.125)
    """
    lengths = {name: len(values) for name, values in measured.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"A paired comparison wants the same seeds everywhere, got numbers of values {lengths}.")
    chosen = list(combinations(measured, 2)) if pairs is None else list(pairs)
    unknown = {name for pair in chosen for name in pair} - set(measured)
    if unknown:
        raise ValueError(f"Nothing was measured for {sorted(unknown)}; there is: {', '.join(measured)}.")
    differences = [
        np.subtract(np.asarray(measured[first], dtype=np.float64), np.asarray(measured[second], dtype=np.float64))
        for first, second in chosen
    ]
    p_values = [sign_flip_p_value(difference) for difference in differences]
    return [
        PairedComparison(*pair, float(difference.mean()), *mean_interval(difference, confidence), p_value, corrected)
        for pair, difference, p_value, corrected in zip(
            chosen, differences, p_values, holm_correction(p_values), strict=True
        )
    ]


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Give the confidence interval of a mean, by Student's t.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        At least two.
    confidence : float, default=0.95
        Probability that the interval holds the mean.

    Returns
    -------
    low, high : float
        Its ends.

    Raises
    ------
    ValueError
        If there are fewer than two values.

    Examples
    --------
    >>> [round(end, 3) for end in mean_interval([1.0, 2.0, 3.0])]
    [-0.484, 4.484]
    """
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        raise ValueError(f"An interval of a mean wants at least two values, got {len(array)}.")
    half = float(t.ppf((1 + confidence) / 2, len(array) - 1)) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return float(array.mean()) - half, float(array.mean()) + half


def sign_flip_p_value(differences: ArrayLike) -> float:
    """Test whether paired differences have mean zero, by all flips of their signs.

    If a pair's two settings do the same, its difference is as probable with the other sign. The p-value is the share
    of the 2^n ways to flip them whose mean is at least as far from zero. It is exact and takes nothing for normal; with
    five seeds it cannot be less than 2/32, with ten not less than 2/1024.

    Parameters
    ----------
    differences : array-like of shape (n_pairs,)
        1 to 20 of them.

    Returns
    -------
    float
        The two-sided p-value.

    Raises
    ------
    ValueError
        If there is none or are more than 20, or one is no finite number.

    References
    ----------
    R. A. Fisher, "The Design of Experiments", 1935, section 21.

    Examples
    --------
    >>> sign_flip_p_value([1.0, 2.0, 3.0])
    0.25
    """
    array = np.asarray(differences, dtype=np.float64)
    if not 1 <= len(array) <= MOST_PAIRS:
        raise ValueError(f"The exact permutation test wants 1 to {MOST_PAIRS} differences, got {len(array)}.")
    if not np.isfinite(array).all():
        raise ValueError(f"The exact permutation test wants finite differences, got {array.tolist()}.")
    sums: NDArray[np.float64] = np.zeros(1)
    for difference in array:
        sums = np.concatenate((sums + difference, sums - difference))
    # The first has no sign flipped. Others may equal it but for rounding.
    limit = abs(sums[0]) - 1e-12 * np.abs(array).sum()
    return float(np.mean(np.abs(sums) >= limit))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for having been looked at together.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none may come out smaller than the one before
    it, or greater than 1. The chance that any true hypothesis is rejected is then at most the level, whatever the
    dependence among the tests.

    Parameters
    ----------
    p_values : sequence of float
        Of each test alone.

    Returns
    -------
    list of float
        Corrected, in the same order.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm_correction([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        least = max(least, min((len(p_values) - rank) * p_values[place], 1.0))
        corrected[place] = least
    return corrected
