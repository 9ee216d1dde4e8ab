"""Means of rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._ragged import Ragged


@compiled
def _means(
    table: NDArray[Any],
    numbers: NDArray[np.int64],
    offsets: NDArray[np.int64],
    total: NDArray[Any],
    means: NDArray[np.float32],
) -> None:
    width = table.shape[1]
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        total[:] = 0
        for place in range(start, stop):
            row = numbers[place]
            for column in range(width):
                total[column] += table[row, column]
        count = np.float64(max(stop - start, 1))
        for column in range(width):
            means[group, column] = np.float32(np.float64(total[column]) / count)


def mean_rows(
    table: NDArray[Any],  # (n_table_rows, n_columns)
    rows: Ragged,
) -> NDArray[np.float32]:  # (n_groups, n_columns)
    """Return the mean of each group of rows of a table."""
    means = np.empty((len(rows.offsets) - 1, table.shape[1]), dtype=np.float32)
    total = np.empty(table.shape[1], dtype=np.float64 if table.dtype.kind == "f" else np.int32)
    _means(table, rows.values, rows.offsets, total, means)
    return means
