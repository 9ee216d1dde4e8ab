"""Two-means that keeps both sides large enough, on many clusters at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

_N_POWER_STEPS = 4
_N_MEAN_STEPS = 12


@dataclass(frozen=True)
class Balance:
    """How large the left part of each cluster should be."""

    weights: Doubles  # how much each row counts, more than 0
    shares: Doubles  # the share of a cluster's weight that its left part should have
    # How far from it a cut may be, relative to the smaller of the shares of both parts; 0 wants the nearest cut
    slack: float

    def cut(self, scores: Floats, starts: Ints) -> tuple[Ints, Ints]:
        """Sort each cluster by score and cut it where the sign changes, or as near to it as the balance lets."""
        sizes = np.diff(np.append(starts, len(scores)))
        cluster = np.repeat(np.arange(len(starts)), sizes)
        order = np.lexsort((scores, cluster))
        weights = self.weights[order]
        totals = np.add.reduceat(weights, starts)
        cumulative = np.cumsum(weights)
        # What each row says is said of the cut behind it; behind the last there is none.
        fractions = (cumulative - (cumulative - weights)[starts][cluster]) / totals[cluster]
        off = np.abs(fractions - self.shares[cluster])
        excess = np.maximum(off - (self.slack * np.minimum(self.shares, 1 - self.shares))[cluster], 0)
        excess[starts + sizes - 1] = np.inf
        sign_change = starts + np.add.reduceat((scores < 0).astype(np.int64), starts) - 1
        distance = np.abs(np.arange(len(scores)) - sign_change[cluster]).astype(np.float64)
        # Rows that are all alike tell nothing about where to cut.
        alike = scores[order[starts]] == scores[order[starts + sizes - 1]]
        distance = np.where(alike[cluster], off, distance)
        allowed = excess <= np.minimum.reduceat(excess, starts)[cluster]
        distance[~allowed] = np.inf
        best = np.flatnonzero(distance == np.minimum.reduceat(distance, starts)[cluster])
        places = best[np.searchsorted(best, starts)]
        return order, places - starts + 1


def balanced_split(
    vectors: Floats, weights: Floats, balance: Balance, starts: Ints, generator: np.random.Generator
) -> tuple[Ints, Ints]:
    """Split each cluster into a left and a right part."""
    sizes = np.diff(np.append(starts, len(vectors)))
    cluster = np.repeat(np.arange(len(starts)), sizes)
    weighted = vectors * weights[:, None]
    middles = np.add.reduceat(weighted, starts) / np.add.reduceat(weights, starts)[:, None]
    directions = generator.standard_normal(middles.shape, dtype=np.float32)
    for _ in range(_N_POWER_STEPS):
        scores = _scores(vectors, directions, middles, cluster)
        directions = np.add.reduceat(weighted * scores[:, None], starts)
        directions /= np.maximum(np.abs(directions).max(axis=1, keepdims=True), np.float32(1e-30))
    order, left_sizes = balance.cut(_scores(vectors, directions, middles, cluster), starts)
    places = np.arange(len(vectors))
    was_left = np.zeros(len(vectors), dtype=bool)
    for _ in range(_N_MEAN_STEPS):
        is_left = np.empty(len(vectors), dtype=bool)
        is_left[order] = places < np.repeat(starts + left_sizes, sizes)
        if (is_left == was_left).all():
            break
        was_left = is_left
        parts = np.stack([starts, starts + left_sizes], axis=1).ravel()
        means = np.add.reduceat(weighted[order], parts) / np.add.reduceat(weights[order], parts)[:, None]
        left, right = means[::2], means[1::2]
        order, left_sizes = balance.cut(_scores(vectors, right - left, (left + right) / 2, cluster), starts)
    return order, left_sizes


def _scores(vectors: Floats, directions: NDArray[Any], middles: NDArray[Any], cluster: Ints) -> Floats:
    """Project each row, less its cluster's middle, on its cluster's direction."""
    at_middle = np.einsum("ij,ij->i", middles, directions)
    scores: Floats = np.einsum("ij,ij->i", vectors, directions[cluster]) - at_middle[cluster]
    return scores
