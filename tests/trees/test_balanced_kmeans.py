"""Balanced two-means against all halves, and k-means with an upper bound."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees._balanced_kmeans import Balance, balanced_k_means, balanced_split


def even(n_rows: int, n_clusters: int, slack: float) -> Balance:
    return Balance(np.ones(n_rows), np.full(n_clusters, 0.5), slack)


def spread(rows: np.ndarray, left: np.ndarray) -> float:
    parts = (rows[left], rows[np.setdiff1d(np.arange(len(rows)), left)])
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def test_halves_are_nearly_the_best() -> None:
    generator = np.random.default_rng(0)
    n_clusters, size = 60, 8
    vectors = generator.normal(size=(n_clusters * size, 3)).astype(np.float32)
    starts = np.arange(0, len(vectors), size)
    balance = even(len(vectors), n_clusters, 0.0)
    order, left = balanced_split(vectors, np.ones(len(vectors), np.float32), balance, starts, np.random.default_rng(0))
    assert (left == size // 2).all()
    ratios = []
    for start in starts:
        rows = vectors[start : start + size]
        best = min(spread(rows, np.array(half)) for half in combinations(range(size), size // 2))
        ratios.append(spread(rows, order[start : start + size // 2] - start) / best)
    assert np.mean(ratios) < 1.03


@given(st.integers(2, 8), st.integers(1, 6), st.integers(0, 99))
def test_no_cluster_outgrows_its_capacity(n_clusters: int, size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_rows = n_clusters * size
    vectors = np.exp(generator.normal(size=(n_rows, 3))).astype(np.float32)
    labels = generator.permutation(np.repeat(np.arange(n_clusters), size))
    ones = np.ones(n_rows)
    labels = balanced_k_means(vectors, ones.astype(np.float32), ones, labels, size + 1.0)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert len(sizes) == n_clusters
    assert sizes.sum() == n_rows
    assert sizes.max() <= size + 1


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_would_lose_least_give_way(seed: int) -> None:
    # Ten rows at 0 and one at each of 1 .. 30: the larger cluster is full before it has all that are nearest to it.
    vectors = np.concatenate([np.zeros(10), np.arange(1, 31)])[:, None].astype(np.float32)
    labels = np.random.default_rng(seed).permutation(np.repeat([0, 1], 20))
    ones = np.ones(40)
    labels = balanced_k_means(vectors, ones.astype(np.float32), ones, labels, 20.0)
    assert len(set(labels[:20].tolist())) == len(set(labels[20:].tolist())) == 1
    assert labels[0] != labels[-1]
