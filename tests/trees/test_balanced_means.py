"""K-means with an upper bound: the bound holds, and who stays is who would lose most elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.trees._balanced_kmeans import balanced_means


@given(st.integers(2, 8), st.integers(1, 6), st.integers(0, 99))
def test_no_cluster_outgrows_its_capacity(n_clusters: int, size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_rows = n_clusters * size
    vectors = np.exp(generator.normal(size=(n_rows, 3))).astype(np.float32)
    labels = generator.permutation(np.repeat(np.arange(n_clusters), size))
    ones = np.ones(n_rows)
    found = balanced_means(vectors, ones.astype(np.float32), ones, labels, size + 1.0)
    sizes = np.bincount(found, minlength=n_clusters)
    assert len(sizes) == n_clusters
    assert sizes.sum() == n_rows
    assert sizes.max() <= size + 1


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_would_lose_least_give_way(seed: int) -> None:
    # Ten rows at 0 and one at each of 1 .. 30: the larger cluster is full before it has all that are nearest to it.
    vectors = np.concatenate([np.zeros(10), np.arange(1, 31)])[:, None].astype(np.float32)
    labels = np.random.default_rng(seed).permutation(np.repeat([0, 1], 20))
    ones = np.ones(40)
    found = balanced_means(vectors, ones.astype(np.float32), ones, labels, 20.0)
    assert len(set(found[:20].tolist())) == len(set(found[20:].tolist())) == 1
    assert found[0] != found[-1]
