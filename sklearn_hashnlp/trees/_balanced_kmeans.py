"""Balanced clustering: two-means splits, k-means with similar sizes, and clusters of small cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.trees._arrays import Doubles, Floats, Ints

_N_POWER_ITERATIONS = 4
_N_TWO_MEANS_STEPS = 12
_N_LLOYD_STEPS = 10
_N_ASSIGNMENT_ROUNDS = 8
_N_EXCHANGE_ROUNDS = 5
_MAX_DISTANCES = 2**22  # maximum number in memory


@dataclass(frozen=True)
class Balance:
    """The target sizes of the left parts of clusters."""

    weights: Doubles  # positive weight of each row
    shares: Doubles  # target share of each cluster's weight in its left part
    # maximum deviation, relative to the smaller share of both parts; 0 is the nearest cut
    slack: float

    def cut(self, scores: Floats, starts: Ints) -> tuple[Ints, Ints]:
        """Sort each cluster by score; cut at the sign change, or as near as the balance allows."""
        sizes = np.diff(np.append(starts, len(scores)))
        cluster = np.repeat(np.arange(len(starts)), sizes)
        order = np.lexsort((scores, cluster))
        weights = self.weights[order]
        totals = np.add.reduceat(weights, starts)
        cumulative = np.cumsum(weights)
        # The values of each row are for the cut after it; the last row has none.
        fractions = (cumulative - (cumulative - weights)[starts][cluster]) / totals[cluster]
        deviation = np.abs(fractions - self.shares[cluster])
        excess = np.maximum(
            deviation - (self.slack * np.minimum(self.shares, 1 - self.shares))[cluster], 0
        )
        excess[starts + sizes - 1] = np.inf
        sign_change = starts + np.add.reduceat((scores < 0).astype(np.int64), starts) - 1
        distance = np.abs(np.arange(len(scores)) - sign_change[cluster]).astype(np.float64)
        # Equal scores do not determine a cut.
        is_constant = scores[order[starts]] == scores[order[starts + sizes - 1]]
        distance = np.where(is_constant[cluster], deviation, distance)
        allowed = excess <= np.minimum.reduceat(excess, starts)[cluster]
        distance[~allowed] = np.inf
        best = np.flatnonzero(distance == np.minimum.reduceat(distance, starts)[cluster])
        cuts = best[np.searchsorted(best, starts)]
        return order, cuts - starts + 1


def balanced_split(
    vectors: Floats, weights: Floats, balance: Balance, starts: Ints, generator: np.random.Generator
) -> tuple[Ints, Ints]:
    """Split each cluster by two-means; return the order of rows and the sizes of left parts."""
    sizes = np.diff(np.append(starts, len(vectors)))
    cluster = np.repeat(np.arange(len(starts)), sizes)
    weighted = vectors * weights[:, None]
    centers = np.add.reduceat(weighted, starts) / np.add.reduceat(weights, starts)[:, None]
    directions = generator.standard_normal(centers.shape, dtype=np.float32)
    for _ in range(_N_POWER_ITERATIONS):
        scores = _scores(vectors, directions, centers, cluster)
        directions = np.add.reduceat(weighted * scores[:, None], starts)
        directions /= np.maximum(np.abs(directions).max(axis=1, keepdims=True), np.float32(1e-30))
    order, left_sizes = balance.cut(_scores(vectors, directions, centers, cluster), starts)
    positions = np.arange(len(vectors))
    was_left = np.zeros(len(vectors), dtype=bool)
    for _ in range(_N_TWO_MEANS_STEPS):
        is_left = np.empty(len(vectors), dtype=bool)
        is_left[order] = positions < np.repeat(starts + left_sizes, sizes)
        if (is_left == was_left).all():
            break
        was_left = is_left
        parts = np.stack([starts, starts + left_sizes], axis=1).ravel()
        means = (
            np.add.reduceat(weighted[order], parts)
            / np.add.reduceat(weights[order], parts)[:, None]
        )
        left, right = means[::2], means[1::2]
        order, left_sizes = balance.cut(
            _scores(vectors, right - left, (left + right) / 2, cluster), starts
        )
    return order, left_sizes


def _scores(
    vectors: Floats, directions: NDArray[Any], centers: NDArray[Any], cluster: Ints
) -> Floats:
    """Project each row, minus its cluster's center, on its cluster's direction."""
    center_scores = np.einsum("ij,ij->i", centers, directions)
    scores: Floats = np.einsum("ij,ij->i", vectors, directions[cluster]) - center_scores[cluster]
    return scores


def balanced_k_means(
    vectors: Floats, weights: Floats, loads: Doubles, labels: Ints, capacity: float
) -> Ints:
    """Improve clusters by Lloyd's algorithm with a maximum load per cluster; return the labels."""
    n_clusters = int(labels.max()) + 1
    means = np.empty((n_clusters, vectors.shape[1]), dtype=np.float32)
    for _ in range(_N_LLOYD_STEPS):
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        sums = np.add.reduceat(vectors[order] * weights[order, None], starts)
        means[labels[order[starts]]] = sums / np.add.reduceat(weights[order], starts)[:, None]
        previous, labels = labels, _assign(vectors, weights, loads, means, capacity)
        if (labels == previous).all():
            break
    return labels


def _assign(
    vectors: Floats, weights: Floats, loads: Doubles, means: Floats, capacity: float
) -> Ints:
    """Assign rows to the nearest open cluster, in rounds, in the order of the loss elsewhere."""
    labels = np.zeros(len(vectors), dtype=np.int64)
    remaining = np.full(len(means), capacity)
    is_open = np.ones(len(means), dtype=bool)
    waiting = np.arange(len(vectors))
    nearest = waiting
    for _ in range(_N_ASSIGNMENT_ROUNDS):
        open_clusters = np.flatnonzero(is_open)
        if not len(waiting) or not len(open_clusters):
            break
        index, loss = _nearest(vectors[waiting], means[open_clusters])
        nearest = open_clusters[index]
        order = np.lexsort((-loss * weights[waiting], nearest))
        waiting, nearest = waiting[order], nearest[order]
        starts = np.flatnonzero(np.diff(nearest, prepend=-1))
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(nearest))))
        load_sums = np.cumsum(loads[waiting])
        load_sums -= (load_sums - loads[waiting])[starts][group]
        fits = load_sums <= remaining[nearest] + 1e-9 * capacity
        # The first row may exceed the capacity: it gets an empty cluster.
        fits[starts] |= remaining[nearest[starts]] == capacity
        labels[waiting[fits]] = nearest[fits]
        np.subtract.at(remaining, nearest[fits], loads[waiting[fits]])
        is_open[nearest[~fits]] = False
        waiting, nearest = waiting[~fits], nearest[~fits]
    if len(waiting):
        # Equal rows are rejected by one cluster after the other; together they fill the emptiest
        # ones.
        emptiest = np.argsort(-remaining, kind="stable")
        levels = np.cumsum(np.maximum(remaining[emptiest], 0))
        load_centers = np.cumsum(loads[waiting]) - loads[waiting] / 2
        ranks = np.searchsorted(levels, load_centers, side="right")
        labels[waiting] = emptiest[np.minimum(ranks, len(means) - 1)]
    return labels


def _nearest(vectors: Floats, means: Floats) -> tuple[Ints, Floats]:
    """Return the nearest mean of each row, and how much farther the second nearest is."""
    index = np.zeros(len(vectors), dtype=np.int64)
    loss = np.zeros(len(vectors), dtype=np.float32)
    norms = np.einsum("ij,ij->i", means, means)
    columns = np.ascontiguousarray(means.T)
    step = max(1, _MAX_DISTANCES // len(means))
    for start in range(0, len(vectors), step):
        rows = slice(start, start + step)
        # The last bits of a matrix product, but not of einsum, depend on the number of threads.
        distances = norms - 2 * np.einsum("ik,kj->ij", vectors[rows], columns)
        index[rows] = distances.argmin(axis=1)
        if len(means) > 1:
            two = np.partition(distances, 1, axis=1)
            loss[rows] = two[:, 1] - two[:, 0]
    return index, loss


def exchange(vectors: Floats, weights: Floats, labels: Ints, price: float) -> Ints:
    """Move rows to lower the variance in clusters plus ``price`` times the mean cluster size."""
    # By Hartigan & Wong (1979): unlike Lloyd's method, it accounts for how a move changes the
    # means.
    rows = vectors.astype(np.float64)
    shares = weights.astype(np.float64)
    labels = labels.copy()
    shares /= shares.sum()
    # Sums do not depend on the number of threads in einsum.
    price *= float(np.einsum("i,ij->", shares, (rows - np.einsum("i,ij->j", shares, rows)) ** 2))
    sizes, loads = np.bincount(labels), np.bincount(labels, shares)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, labels, shares[:, None] * rows)
    means = sums / loads[:, None]
    norms = np.einsum("ij,ij->i", means, means)

    def add(row: int, sign: int, label: int) -> None:
        sizes[label] += sign
        loads[label] += sign * shares[row]
        sums[label] += sign * shares[row] * rows[row]
        means[label] = sums[label] / loads[label]
        norms[label] = np.einsum("j,j->", means[label], means[label])

    for _ in range(_N_EXCHANGE_ROUNDS):
        before = labels.copy()
        for row in np.argsort(-shares, kind="stable").tolist():
            if sizes[labels[row]] == 1:
                continue
            add(row, -1, labels[row])
            share, vector = shares[row], rows[row]
            distances = (
                norms - 2 * np.einsum("ij,j->i", means, vector) + np.einsum("j,j->", vector, vector)
            )
            losses = share * loads / (share + loads) * distances + price * (
                loads + share * (sizes + 1)
            )
            labels[row] = losses.argmin()
            add(row, 1, labels[row])
        if (labels == before).all():
            break
    return labels
