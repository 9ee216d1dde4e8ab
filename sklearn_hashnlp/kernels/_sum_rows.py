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


def sum_rows(rows: NDArray[np.int32], values: NDArray[Any], n_rows: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Add up the values that name the same row of a table.

    Parameters
    ----------
    rows : ndarray of int32 of shape (n_values,)
        Row numbers.
    values : ndarray of float of shape (n_values, n_columns)
        What belongs to each.
    n_rows : int
        Rows of the table; all of ``rows`` are smaller.

    Returns
    -------
    distinct : ndarray of shape (n_distinct,), dtype int64
        The rows, ascending.
    sums : ndarray of shape (n_distinct, n_columns)
        Their sums, each taken in the order of the values.

    Examples
    --------
    >>> import numpy as np
    >>> distinct, sums = sum_rows(np.array([7, 3, 7], dtype=np.int32), np.array([[1.0], [2.0], [4.0]]), 10)
    >>> distinct.tolist(), sums.tolist()
    ([3, 7], [[2.0], [5.0]])
    """
    order, starts, distinct = group_rows(rows, n_rows)
    sums = np.empty((len(distinct), values.shape[1]), dtype=values.dtype)
    _sum(values, order, starts, sums)
    return distinct, sums
