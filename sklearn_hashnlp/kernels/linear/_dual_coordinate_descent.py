"""Dual coordinate descent for linear support vector machines, and the log-odds of naive Bayes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

_INDEX = np.uint64  # a signed index costs a test for negative ones
_AHEAD = 16  # values between the prefetch of a row and its use


class LinearRows(NamedTuple):
    """Sparse rows and their targets, one or several outputs each."""

    offsets: NDArray[np.int64]  # (n_rows + 1,)
    columns: NDArray[np.int32]  # (n_values,)
    values: NDArray[np.float32]  # (n_values,)
    labels: NDArray[np.int64]  # (n_rows,): the output that a row is positive for, if any


def normalize_rows(values: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """Divide the values of each row by their Euclidean norm, in place."""
    lengths = np.diff(offsets)
    squares = np.square(values, dtype=np.float64)
    norms = np.sqrt(np.bincount(np.repeat(np.arange(len(lengths)), lengths), squares, len(lengths)))
    norms[~(norms > 0)] = 1
    values /= np.repeat(norms, lengths)


def squared_norms(rows: LinearRows, n_columns: int) -> NDArray[np.float32]:  # (n_rows,)
    """Return the squared Euclidean norms of rows and a bias of 1; values of one column in one row are summed first."""
    offsets, columns, values, labels = rows
    # Values sorted by column, then by row: those of one column in one row are neighbors, in their order.
    by_column = csr_array((np.arange(len(values)), columns, offsets), shape=(len(labels), n_columns)).tocsc()
    order, row_of = by_column.data, by_column.indices
    is_first = np.ones(len(values), dtype=np.bool_)
    is_first[1:] = (np.diff(row_of) != 0) | (np.diff(columns[order]) != 0)
    cell_of = np.cumsum(is_first) - 1
    sums = np.zeros(np.count_nonzero(is_first), dtype=np.float32)
    np.add.at(sums, cell_of, values[order])
    products = np.empty_like(values)
    products[order] = values[order] * sums[cell_of]
    squares = np.ones(len(labels), dtype=np.float32)
    np.add.at(squares, np.repeat(np.arange(len(labels)), np.diff(offsets)), products)
    return squares


def descend(
    rows: LinearRows,
    squares: NDArray[np.float32],  # (n_rows,): of squared_norms
    costs: NDArray[np.float32],  # (n_rows,): C of each row
    order: NDArray[np.int64],  # (n_rows,)
    weights: NDArray[np.float32],  # (n_columns, n_outputs): updated in place
    bias: NDArray[np.float32],  # (n_outputs,): updated in place, penalized as the weights
    dual: NDArray[np.float32],  # (n_rows, n_outputs): updated in place
) -> None:
    """Take one step for each row and output."""
    _descend(rows, squares, costs, order, weights, bias, dual, np.empty_like(bias), np.empty_like(bias))


@compiled
def _descend(
    rows: LinearRows,
    squares: NDArray[np.float32],
    costs: NDArray[np.float32],
    order: NDArray[np.int64],
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    dual: NDArray[np.float32],
    scores: NDArray[np.float32],  # (n_outputs,): of a row; memory, as steps
    steps: NDArray[np.float32],
) -> None:
    # Of each output it minimizes sum(weights**2) / 2 + sum(costs * max(0, 1 - y * score)**2) (Hsieh et al. 2008).
    # Expressions of arrays, and memory that is allocated here, would take longer to compile.
    offsets, columns, values, labels = rows
    n_outputs = _INDEX(len(bias))
    zero, one = np.float32(0), np.float32(1)
    last = _INDEX(len(columns) - 1)
    for i in range(_INDEX(len(order))):
        row = _INDEX(order[i])
        start, stop = _INDEX(offsets[row]), _INDEX(offsets[row + _INDEX(1)])
        for output in range(n_outputs):
            scores[output] = bias[output]
        for at in range(start, stop):
            ahead = at + _INDEX(_AHEAD)
            prefetch_row(weights, _INDEX(columns[ahead if ahead < last else last]))
            value, column = values[at], _INDEX(columns[at])
            for output in range(n_outputs):
                scores[output] += value * weights[column, output]
        diagonal = one / (costs[row] + costs[row])
        changed = False
        for output in range(n_outputs):
            sign = one if labels[row] == np.int64(output) else -one
            margin = sign * scores[output]
            before = dual[row, output]
            after = before - (margin - one + before * diagonal) / (squares[row] + diagonal)
            after = after if after > zero else zero
            dual[row, output] = after
            steps[output] = sign * (after - before)
            changed |= after != before
        if changed:
            for output in range(n_outputs):
                bias[output] += steps[output]
            for at in range(start, stop):
                value, column = values[at], _INDEX(columns[at])
                for output in range(n_outputs):
                    weights[column, output] += value * steps[output]


def naive_bayes_log_odds(
    rows: LinearRows,
    costs: NDArray[np.float32],  # (n_rows,): weight of each row
    n_columns: int,
    n_outputs: int,
    smoothing: float,
) -> NDArray[np.float32]:  # (n_columns, n_outputs)
    """Return the log-odds of each column, between the rows of an output and all other rows (complement naive Bayes)."""
    # They are zero for a column with a negative value, which is no count.
    own, total = _sum_by_label(rows, costs, n_columns, n_outputs)
    is_count = np.isfinite(total)
    own[~is_count], total[~is_count] = 0, 0
    n_smoothed = smoothing * n_columns
    sums = own.sum(axis=0, dtype=np.float64)
    shift = np.log(sums + n_smoothed) - np.log(total.sum(dtype=np.float64) - sums + n_smoothed)
    _to_log_odds(own, total, np.float32(smoothing), shift.astype(np.float32))
    own[~is_count] = 0
    return own


def _sum_by_label(
    rows: LinearRows, costs: NDArray[np.float32], n_columns: int, n_outputs: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:  # (n_columns, n_outputs), (n_columns,)
    """Return the sums of each column over the rows of an output, and over all rows: infinite with a negative value."""
    offsets, columns, values, labels = rows
    own, total = np.zeros(n_columns * n_outputs, dtype=np.float32), np.zeros(n_columns, dtype=np.float32)
    lengths = np.diff(offsets)
    values = values * np.repeat(costs, lengths)
    np.add.at(total, columns, np.where(values >= 0, values, np.float32(-np.inf)))
    output_of = np.repeat(labels, lengths)
    is_own = output_of >= 0
    np.add.at(own, (columns * np.int64(n_outputs) + output_of)[is_own], values[is_own])
    return own.reshape(n_columns, n_outputs), total


@compiled
def _to_log_odds(
    own: NDArray[np.float32], total: NDArray[np.float32], smoothing: Number, shift: NDArray[np.float32]
) -> None:
    for column in range(len(total)):
        for output in range(own.shape[1]):
            other = max(total[column] - own[column, output], np.float32(0))  # the difference may round below zero
            own[column, output] = np.log((own[column, output] + smoothing) / (other + smoothing)) - shift[output]
