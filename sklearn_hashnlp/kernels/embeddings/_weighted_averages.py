"""Weighted averages of rows of a table, the same weights for every group of rows, and their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._rows import group_rows


@compiled
def average_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    rows: NDArray[np.int64],  # (n_groups, width): -1 for a missing row
    weights: NDArray[Any],  # (n_averages, width): of the position in a group
) -> tuple[NDArray[Any], NDArray[Any]]:  # (n_groups, n_averages, n_columns), (n_groups, n_averages)
    """Return the weighted averages of each group of rows, zeros for an empty group, and the reciprocal weight sums."""
    averages = np.empty((len(rows), len(weights), table.shape[1]), dtype=table.dtype)
    scales = np.empty((len(rows), len(weights)), dtype=table.dtype)
    weights = weights.astype(table.dtype)
    n_averages, width = weights.shape
    averages[:] = 0
    for group in range(len(rows)):
        for k in range(n_averages):
            total = weights[k, 0] - weights[k, 0]  # zero, in the dtype of the weights
            for position in range(width):
                row = rows[group, position]
                if row < 0:
                    continue
                weight = weights[k, position]
                total += weight
                for column in range(table.shape[1]):
                    averages[group, k, column] += weight * table[row, column]
            scales[group, k] = 1 / total if total > 0 else total
            for column in range(table.shape[1]):
                averages[group, k, column] *= scales[group, k]
    return averages, scales


@compiled
def average_rows_gradient(
    gradient: NDArray[Any],  # (n_groups, n_averages, n_columns)
    rows: NDArray[np.int64],  # (n_groups, width)
    weights: NDArray[Any],  # (n_averages, width)
    scales: NDArray[Any],  # (n_groups, n_averages): as average_rows returned them
    n_rows: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:  # (n_distinct,), (n_distinct, n_columns)
    """Return the distinct rows, ascending, and the gradient of each."""
    flat = (rows.reshape(rows.size) + 1).astype(np.int32)  # 0 for a missing row
    order, starts, distinct = group_rows(flat, n_rows + 1)
    first = int(len(distinct) > 0 and distinct[0] == 0)
    starts, weights = starts[first:], weights.astype(gradient.dtype)
    sums = np.zeros((len(distinct) - first, gradient.shape[2]), dtype=gradient.dtype)
    n_averages, width = weights.shape
    for row in range(len(sums)):
        for i in range(starts[row], starts[row + 1]):
            group = order[i] // width
            position = order[i] - group * width
            for k in range(n_averages):
                factor = weights[k, position] * scales[group, k]
                for column in range(sums.shape[1]):
                    sums[row, column] += factor * gradient[group, k, column]
    return distinct[first:] - 1, sums
