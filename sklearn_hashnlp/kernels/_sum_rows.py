"""Sums of rows that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._row_order import group_rows


@compiled
def _sum(values: NDArray[Any], order: NDArray[np.int32], starts: NDArray[np.int64], sums: NDArray[Any]) -> None:
    width = values.shape[1]
    for group in range(len(starts) - 1):
        first = order[starts[group]]
        for column in range(width):
            sums[group, column] = values[first, column]
        for place in range(starts[group] + 1, starts[group + 1]):
            row = order[place]
            for column in range(width):
                sums[group, column] += values[row, column]


def sum_rows(
    rows: NDArray[np.int32],  # (n_values,)
    values: NDArray[Any],  # (n_values, n_columns)
    n_rows: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Add up the values that name the same row of a table."""
    order, starts, distinct = group_rows(rows, n_rows)
    sums = np.empty((len(distinct), values.shape[1]), dtype=values.dtype)
    _sum(values, order, starts, sums)
    return distinct, sums
