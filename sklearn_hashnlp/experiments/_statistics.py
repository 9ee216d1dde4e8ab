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
    """What a comparison came to."""

    first: str
    second: str
    difference: float  # mean of first minus second
    low: float
    high: float
    p_value: float  # of the exact permutation test, for this comparison alone
    corrected_p_value: float  # the same, by Holm's method, for all comparisons that were made together


def compare_paired(
    measured: Mapping[str, Sequence[float]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    confidence: float = 0.95,
) -> list[PairedComparison]:
    """Compare settings that were measured with the same seeds."""
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
    """Return the confidence interval of a mean, by Student's t."""
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        raise ValueError(f"An interval of a mean wants at least two values, got {len(array)}.")
    half = float(t.ppf((1 + confidence) / 2, len(array) - 1)) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return float(array.mean()) - half, float(array.mean()) + half


def sign_flip_p_value(differences: ArrayLike) -> float:
    """Test whether paired differences have mean zero, by all flips of their signs."""
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
    """Correct p-values for having been looked at together."""
    corrected, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        least = max(least, min((len(p_values) - rank) * p_values[place], 1.0))
        corrected[place] = least
    return corrected
