"""Logarithms and powers of counts, the same bits on every processor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def map_distinct(function: Callable[[float], float], values: NDArray[Any]) -> NDArray[np.float64]:
    """Apply a function of :mod:`math` to the distinct values; numpy's depend on the processor."""
    distinct = np.unique(values)
    results = np.array([function(value) for value in distinct.tolist()], dtype=np.float64)
    return results[np.searchsorted(distinct, values)]


def smoothed_idf(frequencies: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    """Compute inverse document frequencies, as scikit-learn's ``TfidfTransformer`` does."""

    def idf(frequency: float) -> float:  # what collides may count a document twice
        return math.log((1 + n_rows) / (1 + min(frequency, n_rows))) + 1

    return map_distinct(idf, frequencies)


def mean_idf(weights: NDArray[np.float64]) -> float:
    """Return the divisor of inverse document frequencies."""
    return float(weights.mean()) if len(weights) else 1.0
