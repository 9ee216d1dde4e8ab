"""Clusters of equal size."""

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


_N_STEPS = 10
_N_ROUNDS = 8
_CHUNK = 2**22  # distances held at once


def balanced_means(vectors: Floats, weights: Floats, loads: Doubles, labels: Ints, capacity: float) -> Ints:
    """Improve clusters by Lloyd's steps that fill no cluster above its capacity."""
    n_clusters = int(labels.max()) + 1
    means = np.empty((n_clusters, vectors.shape[1]), dtype=np.float32)
    for _ in range(_N_STEPS):
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        sums = np.add.reduceat(vectors[order] * weights[order, None], starts)
        means[labels[order[starts]]] = sums / np.add.reduceat(weights[order], starts)[:, None]
        previous, labels = labels, _assign(vectors, weights, loads, means, capacity)
        if (labels == previous).all():
            break
    return labels


def _assign(vectors: Floats, weights: Floats, loads: Doubles, means: Floats, capacity: float) -> Ints:
    """Let rows ask for the nearest open cluster, those that would lose most elsewhere first, the refused again."""
    labels = np.zeros(len(vectors), dtype=np.int64)
    room = np.full(len(means), capacity)
    is_open = np.ones(len(means), dtype=bool)
    waiting = np.arange(len(vectors))
    nearest = waiting
    for _ in range(_N_ROUNDS):
        open_clusters = np.flatnonzero(is_open)
        if not len(waiting) or not len(open_clusters):
            break
        place, loss = _nearest(vectors[waiting], means[open_clusters])
        nearest = open_clusters[place]
        order = np.lexsort((-loss * weights[waiting], nearest))
        waiting, nearest = waiting[order], nearest[order]
        starts = np.flatnonzero(np.diff(nearest, prepend=-1))
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(nearest))))
        taken = np.cumsum(loads[waiting])
        taken -= (taken - loads[waiting])[starts][group]
        fits = taken <= room[nearest] + 1e-9 * capacity
        # The first may be too large for any cluster: an empty one is its own.
        fits[starts] |= room[nearest[starts]] == capacity
        labels[waiting[fits]] = nearest[fits]
        np.subtract.at(room, nearest[fits], loads[waiting[fits]])
        is_open[nearest[~fits]] = False
        waiting, nearest = waiting[~fits], nearest[~fits]
    if len(waiting):
        # Rows that are all alike ask for one cluster after the other; they fill the emptiest, so as to stay together.
        emptiest = np.argsort(-room, kind="stable")
        levels = np.cumsum(np.maximum(room[emptiest], 0))
        middles = np.cumsum(loads[waiting]) - loads[waiting] / 2
        places = np.searchsorted(levels, middles, side="right")
        labels[waiting] = emptiest[np.minimum(places, len(means) - 1)]
    return labels


def _nearest(vectors: Floats, means: Floats) -> tuple[Ints, Floats]:
    """Return the nearest mean of each row, and how much farther the second nearest is."""
    place = np.zeros(len(vectors), dtype=np.int64)
    loss = np.zeros(len(vectors), dtype=np.float32)
    norms = np.einsum("ij,ij->i", means, means)
    columns = np.ascontiguousarray(means.T)
    step = max(1, _CHUNK // len(means))
    for start in range(0, len(vectors), step):
        rows = slice(start, start + step)
        # einsum, since the last bits of a matrix product change with the number of threads.
        distances = norms - 2 * np.einsum("ik,kj->ij", vectors[rows], columns)
        place[rows] = distances.argmin(axis=1)
        if len(means) > 1:
            two = np.partition(distances, 1, axis=1)
            loss[rows] = two[:, 1] - two[:, 0]
    return place, loss
