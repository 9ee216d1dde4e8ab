"""Rows of tables grouped, summed, averaged and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged


def group_rows(
    rows: NDArray[np.int32],  # (n_values,)
    n_rows: int,
    # (n_values,), (n_groups + 1,), (n_groups,)
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions sorted by row, the start of each row in them, and the distinct rows."""
    return _native.group_rows(rows, n_rows)


def row_lengths(
    indptr: NDArray[Any],  # (n_rows + 1,): of a CSR matrix
    data: NDArray[Any],  # (n_values,)
) -> NDArray[np.float64]:  # (n_rows,)
    """Return the Euclidean lengths of the rows of a matrix."""
    lengths = np.empty(len(indptr) - 1)
    _native.row_lengths(indptr, data, lengths)
    return lengths


def sum_rows(
    rows: NDArray[np.int32],  # (n_values,)
    values: NDArray[Any],  # (n_values, n_columns)
    n_rows: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the distinct rows, ascending, and the sum of the values of each, in their order."""
    distinct, sums = _native.sum_rows(rows, values, n_rows)
    return distinct, sums.reshape(len(distinct), values.shape[1])


def mean_rows(
    table: NDArray[Any],  # (n_table_rows, n_columns)
    rows: Ragged,
) -> NDArray[np.float32]:  # (n_groups, n_columns)
    """Return the mean of each group of rows of a table; zeros for an empty group."""
    means = np.empty((len(rows.offsets) - 1, table.shape[1]), dtype=np.float32)
    _native.mean_rows(table, rows.values, rows.offsets, means)
    return means


def average_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    rows: NDArray[np.int64],  # (n_groups, width): -1 for a missing row
    weights: NDArray[Any],  # (n_averages, width): of the position in a group
) -> tuple[NDArray[Any], NDArray[Any]]:  # (n_groups, n_averages, n_columns), (n_groups, n_averages)
    """Return weighted averages of each group, zeros if it is empty, and reciprocal weight sums."""
    averages = np.empty((len(rows), len(weights), table.shape[1]), dtype=table.dtype)
    scales = np.empty((len(rows), len(weights)), dtype=table.dtype)
    arrays = (
        np.ascontiguousarray(table),
        np.ascontiguousarray(rows),
        np.ascontiguousarray(weights, table.dtype),
    )
    _native.average_rows(*arrays, averages, scales)
    return averages, scales


def average_rows_gradient(
    gradient: NDArray[Any],  # (n_groups, n_averages, n_columns)
    rows: NDArray[np.int64],  # (n_groups, width)
    weights: NDArray[Any],  # (n_averages, width)
    scales: NDArray[Any],  # (n_groups, n_averages): as average_rows returned them
    n_rows: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:  # (n_distinct,), (n_distinct, n_columns)
    """Return the distinct rows, ascending, and the gradient of each."""
    arrays = np.ascontiguousarray(rows), np.ascontiguousarray(weights, gradient.dtype)
    distinct, sums = _native.average_rows_gradient(gradient, *arrays, scales, n_rows)
    return distinct, sums.reshape(len(distinct), gradient.shape[2])


def gather_rows(
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[Any],  # (n_values,)
    indptr: NDArray[np.int64],  # (n_matrix_rows + 1,)
    rows: NDArray[np.int64],  # (n_rows,)
    *,
    index_dtype: Any = None,  # of the columns; None is that of the indices
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64]]:
    """Return the columns, the values and the offsets of some rows of a CSR matrix."""
    gather = (
        _native.gather_rows
        if index_dtype in (None, indices.dtype)
        else _native.gather_rows_to_int64
    )
    data = data if data.dtype == np.float64 else data.astype(np.float32, copy=False)
    return gather(
        indices, data, *(np.ascontiguousarray(offsets, np.int64) for offsets in (indptr, rows))
    )


def gather_windows(
    inputs: NDArray[np.int32],  # (n_words,)
    targets: NDArray[np.int32],  # (n_words,)
    positions: NDArray[Any],  # (n_windows,)
    rows: NDArray[np.int64],  # (n,)
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ``width`` words before each position, the oldest first, and the word at it."""
    contexts = np.empty((len(rows), width), dtype=np.int64)
    words = np.empty(len(rows), dtype=np.int64)
    _native.gather_windows(inputs, targets, positions, rows, contexts, words)
    return contexts, words


def mask_before_last(
    rows: NDArray[np.int64],  # (n_rows, width); changed in place
    value: int,
) -> None:
    """Set all elements before the last occurrence of a value in each row to that value."""
    _native.mask_before_last(rows, value)
