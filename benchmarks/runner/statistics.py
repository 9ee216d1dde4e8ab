"""Paired comparisons of settings that were run with the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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
    pairs: Sequence[tuple[str, str]],
    confidence: float = 0.95,
) -> list[PairedComparison]:
    """Compare the scores of pairs of settings seed by seed."""
    import numpy as np
    from scipy.stats import t

    lengths = {name: len(values) for name, values in scores.items()}
    if len(set(lengths.values())) > 1 or min(lengths.values()) < 2:
        raise ValueError(
            "A paired comparison needs the same number of scores of each, at least two, got "
            f"{lengths}."
        )
    differences = [np.subtract(scores[first], scores[second]) for first, second in pairs]
    p_values = [sign_flip_p_value(difference) for difference in differences]
    comparisons = []
    for pair, difference, p_value, corrected in zip(
        pairs, differences, p_values, holm_correction(p_values), strict=True
    ):
        mean, n = float(difference.mean()), len(difference)
        half = float(t.ppf((1 + confidence) / 2, n - 1) * difference.std(ddof=1) / n**0.5)
        comparisons.append(
            PairedComparison(*pair, mean, mean - half, mean + half, p_value, corrected)
        )
    return comparisons


def sign_flip_p_value(differences: ArrayLike) -> float:
    """Return the two-sided p-value of the exact permutation test on paired differences."""
    import numpy as np

    array = np.asarray(differences, dtype=np.float64)
    if not 1 <= len(array) <= MAX_PAIRS or not np.isfinite(array).all():
        raise ValueError(
            f"The exact permutation test needs 1 to {MAX_PAIRS} finite differences, got "
            f"{array.tolist()}."
        )
    sums = np.zeros(1)
    for difference in array:
        sums = np.concatenate((sums + difference, sums - difference))
    # The first sum has no sign flipped; others may differ from it by rounding alone.
    threshold = abs(sums[0]) - 1e-12 * np.abs(array).sum()
    return float(np.mean(np.abs(sums) >= threshold))


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's method."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min((len(p_values) - rank) * p_values[index], 1.0))
        corrected[index] = largest
    return corrected
