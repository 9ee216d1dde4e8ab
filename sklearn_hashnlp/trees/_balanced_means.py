"""K-means whose clusters have an upper bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

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
