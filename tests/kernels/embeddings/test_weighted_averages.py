"""Weighted averages of rows, and their gradient, against sums one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.embeddings._weighted_averages import average_rows, average_rows_gradient


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(1, 6), st.integers(1, 9), st.integers(1, 4))
def test_averages_and_their_gradient(seed, n_groups, width, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    table, rows = rng.normal(size=(n_rows, n_columns)), rng.integers(-1, n_rows, (n_groups, width))
    weights, gradient = rng.uniform(0.1, 1, (2, width)), rng.normal(size=(n_groups, 2, n_columns))
    averages, d_table = np.zeros((n_groups, 2, n_columns)), np.zeros_like(table)
    for group in range(n_groups):
        for k in range(2):
            kept = [(row, weight) for row, weight in zip(rows[group], weights[k], strict=True) if row >= 0]
            total = sum(weight for _, weight in kept)
            for row, weight in kept:
                averages[group, k] += weight / total * table[row]
                d_table[row] += weight / total * gradient[group, k]
    result, scales = average_rows(table, rows, weights)
    np.testing.assert_allclose(result, averages, rtol=1e-12, atol=1e-12)
    distinct, sums = average_rows_gradient(gradient, rows, weights, scales, n_rows)
    assert distinct.tolist() == sorted(set(rows[rows >= 0].tolist()))
    np.testing.assert_allclose(sums, d_table[distinct], rtol=1e-12, atol=1e-12)
