"""The most probable labels of rows; numpy only, as ``hashnlp predict`` imports it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def largest(probabilities: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the k largest probabilities of each row, in descending order, and the indices of their classes."""
    indices = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    return probabilities[np.arange(len(indices))[:, np.newaxis], indices], indices


def label_pairs(
    labels: list[Any], probabilities: NDArray[np.float64], indices: NDArray[np.int64], threshold: float
) -> list[list[tuple[Any, float]]]:
    """Return the labels of each row with their probabilities, of at least a threshold."""
    return [
        [(labels[index], probability) for index, probability in zip(*best, strict=True) if probability >= threshold]
        for best in zip(indices.tolist(), probabilities.tolist(), strict=True)
    ]
