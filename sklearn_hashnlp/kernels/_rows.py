"""Rows of tables grouped, summed, averaged and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels._ragged import Ragged

_MAX_DIGIT_BITS = 12
_LOW_HALF = np.int64(2**32 - 1)


def group_rows(
    rows: NDArray[np.int32],  # (n_values,)
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:  # (n_values,), (n_groups + 1,), (n_groups,)
    """Return the positions in ``rows`` sorted by row, where each row's positions start, and the distinct rows."""
    return _native.group_rows(rows, n_rows)


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
    """Return the weighted averages of each group of rows, zeros for an empty group, and the reciprocal weight sums."""
    averages = np.empty((len(rows), len(weights), table.shape[1]), dtype=table.dtype)
    scales = np.empty((len(rows), len(weights)), dtype=table.dtype)
    arrays = np.ascontiguousarray(table), np.ascontiguousarray(rows), np.ascontiguousarray(weights, table.dtype)
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
    gather = _native.gather_rows if index_dtype in (None, indices.dtype) else _native.gather_rows_to_int64
    data = data if data.dtype == np.float64 else data.astype(np.float32, copy=False)
    return gather(indices, data, *(np.ascontiguousarray(offsets, np.int64) for offsets in (indptr, rows)))


def take_rows(
    table: NDArray[np.uint8],  # (n_rows, n_columns)
    rows: NDArray[np.int64],  # (n,)
    copies: NDArray[np.uint8],  # (n, n_columns)
) -> None:
    """Copy some rows; other threads can run while the rows of a mapped file are read."""
    _native.take_rows(table, rows, copies)


def gather_windows(
    inputs: NDArray[np.int32],  # (n_words,)
    targets: NDArray[np.int32],  # (n_words,)
    positions: NDArray[Any],  # (n_windows,)
    rows: NDArray[np.int64],  # (n,)
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ``width`` words before some positions of a text, the oldest first, and the words at the positions."""
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


@compiled
def _group_rows(
    rows: NDArray[np.int32],  # (n_values,)
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:  # (n_values,), (n_groups + 1,), (n_groups,)
    """Return the positions in ``rows`` sorted by row, where each row's positions start, and the distinct rows."""
    # A radix sort: an item holds a row in its upper half and its position in the lower. Items are sorted digit by digit
    # from the lowest, and each round keeps the order of the previous round.
    n_rounds = 1
    while (n_rows - 1) >> (n_rounds * _MAX_DIGIT_BITS) > 0:
        n_rounds += 1
    n_bits = 1
    while (n_rows - 1) >> (n_rounds * n_bits) > 0:
        n_bits += 1
    n_values = len(rows)
    items, spare = in_huge_pages(np.empty(n_values, np.int64)), in_huge_pages(np.empty(n_values, np.int64))
    order, distinct = in_huge_pages(np.empty(n_values, np.int32)), in_huge_pages(np.empty(n_values, np.int64))
    starts = in_huge_pages(np.empty(n_values + 1, np.int64))
    mask = (1 << n_bits) - 1
    counts = np.zeros((n_rounds, mask + 1), dtype=np.int64)
    for at in range(len(rows)):
        items[at] = (np.int64(rows[at]) << 32) | at
        for round_ in range(n_rounds):
            counts[round_, (rows[at] >> (round_ * n_bits)) & mask] += 1
    for round_ in range(n_rounds):
        ends, shift, end = counts[round_], 32 + round_ * n_bits, 0
        for digit in range(mask + 1):
            end, ends[digit] = end + ends[digit], end
        for at in range(len(rows)):
            digit = (items[at] >> shift) & mask
            spare[ends[digit]] = items[at]
            ends[digit] += 1
        items, spare = spare, items
    n_groups, last = 0, np.int64(-1)
    for at in range(len(rows)):
        row = items[at] >> 32
        order[at] = items[at] & _LOW_HALF
        if row != last:
            starts[n_groups] = at
            distinct[n_groups] = row
            n_groups += 1
            last = row
    starts[n_groups] = n_values
    return order, starts[: n_groups + 1], distinct[:n_groups]


overload(group_rows)(lambda rows, n_rows: lambda rows, n_rows: _group_rows(rows, n_rows))  # noqa: ARG005
