"""Paired comparisons of settings that were run with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_PAIRS = 20  # all 2**20 sign flips take a second


class PairedComparison(NamedTuple):
    """Mean difference of two settings, its confidence interval and its p-value."""

    first: str
    second: str
    difference: float  # mean of first - second
    low: float
    high: float
    p_value: float  # of the exact permutation test
    corrected_p_value: float  # by Holm's method, for all comparisons of one call


def compare_paired(
    scores: Mapping[str, Sequence[float]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    confidence: float = 0.95,
) -> list[PairedComparison]:
    """Compare the scores of settings seed by seed; by default every setting with every other."""
    lengths = {name: len(values) for name, values in scores.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"A paired comparison needs the same number of scores of each setting, got {lengths}.")
    chosen = list(combinations(scores, 2)) if pairs is None else list(pairs)
    unknown = {name for pair in chosen for name in pair} - set(scores)
    if unknown:
        raise ValueError(f"There are no scores of {sorted(unknown)}; there are scores of: {', '.join(scores)}.")
    differences = [
        np.subtract(np.asarray(scores[first], dtype=np.float64), np.asarray(scores[second], dtype=np.float64))
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
    """Return the confidence interval of a mean by Student's t distribution."""
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        raise ValueError(f"A confidence interval of a mean needs at least two values, got {len(array)}.")
    half = float(t.ppf((1 + confidence) / 2, len(array) - 1)) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return float(array.mean()) - half, float(array.mean()) + half


def sign_flip_p_value(differences: ArrayLike) -> float:
    """Return the two-sided p-value of the exact permutation test that paired differences have mean zero."""
    array = np.asarray(differences, dtype=np.float64)
    if not 1 <= len(array) <= MAX_PAIRS:
        raise ValueError(f"The exact permutation test needs 1 to {MAX_PAIRS} differences, got {len(array)}.")
    if not np.isfinite(array).all():
        raise ValueError(f"The exact permutation test needs finite differences, got {array.tolist()}.")
    sums: NDArray[np.float64] = np.zeros(1)
    for difference in array:
        sums = np.concatenate((sums + difference, sums - difference))
    # The first sum has no sign flipped; others may differ from it by rounding alone.
    threshold = abs(sums[0]) - 1e-12 * np.abs(array).sum()
    return float(np.mean(np.abs(sums) >= threshold))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's method."""
    corrected, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        largest = max(largest, min((len(p_values) - rank) * p_values[index], 1.0))
        corrected[index] = largest
    return corrected
