"""Rows of tables grouped, summed, averaged and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages, prefetch_row
from sklearn_hashnlp.kernels._ragged import Ragged

_MAX_DIGIT_BITS = 12  # of a radix sort: 4096 counters stay in the first-level cache
_LOW_HALF = np.int64(2**32 - 1)
_AHEAD = 4  # rows between the prefetch of a row and its use
_LINE_VALUES = 16  # values of a cache line
_INDEX = np.uint64  # a signed index costs a test for negative ones
_FEW_ROWS = 1000  # copied by numpy


@compiled
def group_rows(
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


@compiled
def sum_rows(
    rows: NDArray[np.int32],  # (n_values,)
    values: NDArray[Any],  # (n_values, n_columns)
    n_rows: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the distinct rows, ascending, and the sum of the values of each, in their order."""
    order, starts, distinct = group_rows(rows, n_rows)
    sums = in_huge_pages(np.empty((len(distinct), values.shape[1]), values.dtype))
    width = values.shape[1]
    for group in range(len(starts) - 1):
        first = order[starts[group]]
        for column in range(width):
            sums[group, column] = values[first, column]
        for i in range(starts[group] + 1, starts[group + 1]):
            row = order[i]
            for column in range(width):
                sums[group, column] += values[row, column]
    return distinct, sums


def mean_rows(
    table: NDArray[Any],  # (n_table_rows, n_columns)
    rows: Ragged,
) -> NDArray[np.float32]:  # (n_groups, n_columns)
    """Return the mean of each group of rows of a table; zeros for an empty group."""
    means = np.empty((len(rows.offsets) - 1, table.shape[1]), dtype=np.float32)
    total = np.empty(table.shape[1], dtype=np.float64 if table.dtype.kind == "f" else np.int32)
    _mean_groups(table, rows.values, rows.offsets, total, means)
    return means


@compiled
def _mean_groups(
    table: NDArray[Any],
    indices: NDArray[np.int64],
    offsets: NDArray[np.int64],
    total: NDArray[Any],
    means: NDArray[np.float32],
) -> None:
    width = table.shape[1]
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        total[:] = 0
        for i in range(start, stop):
            row = indices[i]
            for column in range(width):
                total[column] += table[row, column]
        count = np.float64(max(stop - start, 1))
        for column in range(width):
            means[group, column] = np.float32(np.float64(total[column]) / count)


@compiled
def average_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    rows: NDArray[np.int64],  # (n_groups, width): -1 for a missing row
    weights: NDArray[Any],  # (n_averages, width): of the position in a group
) -> tuple[NDArray[Any], NDArray[Any]]:  # (n_groups, n_averages, n_columns), (n_groups, n_averages)
    """Return the weighted averages of each group of rows, zeros for an empty group, and the reciprocal weight sums."""
    averages = in_huge_pages(np.empty((len(rows), len(weights), table.shape[1]), table.dtype))
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
    sums = in_huge_pages(np.empty((len(distinct) - first, gradient.shape[2]), gradient.dtype))
    sums[:] = 0
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


def select_rows(
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[Any],  # (n_values,)
    indptr: NDArray[np.int64],  # (n_matrix_rows + 1,)
    rows: NDArray[np.int64],  # (n_rows,)
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64]]:
    """Return the columns, the values and the offsets of some rows of a CSR matrix; nothing is compiled for few rows."""
    if len(rows) > _FEW_ROWS:
        return gather_rows(indices, data, indptr, rows, index_dtype=indices.dtype)
    lengths = indptr[rows + 1] - indptr[rows]
    offsets = np.append(0, np.cumsum(lengths))
    at = np.repeat(indptr[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return indices[at], data[at].astype(np.float32, copy=False), offsets


def gather_rows(
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[Any],  # (n_values,)
    indptr: NDArray[np.int64],  # (n_matrix_rows + 1,)
    rows: NDArray[np.int64],  # (n_rows,)
    *,
    index_dtype: Any = np.int64,
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64]]:
    """Return the columns, the values and the offsets of some rows of a CSR matrix."""
    offsets = np.append(0, np.cumsum(indptr[rows + 1] - indptr[rows]))
    columns = np.empty(offsets[-1], dtype=index_dtype)
    values = np.empty(offsets[-1], dtype=np.float32)
    _copy_rows(indices, data, indptr, rows, offsets, columns, values)
    return columns, values, offsets


@compiled
def _copy_rows(
    indices: NDArray[Any],
    data: NDArray[Any],
    indptr: NDArray[np.int64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    columns: NDArray[Any],
    values: NDArray[Any],
) -> None:
    lines_of_indices, lines_of_data = indices.reshape(-1, 1), data.reshape(-1, 1)
    for i in range(len(rows)):
        ahead = rows[min(i + _AHEAD, len(rows) - 1)]
        for step in range(indptr[ahead], indptr[ahead + 1], _LINE_VALUES):
            prefetch_row(lines_of_indices, step)
            prefetch_row(lines_of_data, step)
        shift = _INDEX(offsets[i]) - _INDEX(indptr[rows[i]])
        for at in range(_INDEX(indptr[rows[i]]), _INDEX(indptr[rows[i] + 1])):
            columns[at + shift] = indices[at]
            values[at + shift] = data[at]


@compiled
def take_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    rows: NDArray[np.int64],  # (n,)
    copies: NDArray[Any],  # (n, n_columns)
) -> None:
    """Copy some rows; other threads can run while the rows of a mapped file are read."""
    for i in range(len(rows)):
        prefetch_row(table, rows[min(i + _AHEAD, len(rows) - 1)])
        row, index = _INDEX(rows[i]), _INDEX(i)
        for column in range(table.shape[1]):
            copies[index, _INDEX(column)] = table[row, _INDEX(column)]


@compiled
def gather_windows(
    inputs: NDArray[Any],  # (n_words,)
    targets: NDArray[Any],  # (n_words,)
    positions: NDArray[Any],  # (n_windows,)
    rows: NDArray[np.int64],  # (n,)
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ``width`` words before some positions of a text, the oldest first, and the words at the positions."""
    contexts = np.empty((len(rows), width), dtype=np.int64)
    words = np.empty(len(rows), dtype=np.int64)
    for at in range(len(rows)):
        position = positions[rows[at]]
        words[at] = targets[position]
        for column in range(width):
            contexts[at, column] = inputs[position - width + column]
    return contexts, words


@compiled
def mask_before_last(
    rows: NDArray[np.int64],  # (n_rows, width); changed in place
    value: Number,
) -> None:
    """Set all elements before the last occurrence of a value in each row to that value."""
    for row in range(len(rows)):
        found = False
        for column in range(rows.shape[1] - 1, -1, -1):
            found = found or rows[row, column] == value
            if found:
                rows[row, column] = value
