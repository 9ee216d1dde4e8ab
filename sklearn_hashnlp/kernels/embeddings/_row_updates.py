"""Optimizer steps on the rows of a table that have a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

_INDEX = np.uint64  # a signed index costs a test for negative ones
_LANES = 8  # partial sums; narrower rows have one sum
_AHEAD = 16  # rows between the prefetch of a row and its use


@inlined
def _sum_of_squares(row: NDArray[Any]) -> Number:
    """Return the sum of squares by eight partial sums, vectorized, in the same order on every machine."""
    s_0 = s_1 = s_2 = s_3 = s_4 = s_5 = s_6 = s_7 = rest = row.dtype.type(0)
    end = len(row) - len(row) % _LANES
    for column in range(0, end, _LANES):
        index = _INDEX(column)
        s_0 += row[index] * row[index]
        s_1 += row[index + _INDEX(1)] * row[index + _INDEX(1)]
        s_2 += row[index + _INDEX(2)] * row[index + _INDEX(2)]
        s_3 += row[index + _INDEX(3)] * row[index + _INDEX(3)]
        s_4 += row[index + _INDEX(4)] * row[index + _INDEX(4)]
        s_5 += row[index + _INDEX(5)] * row[index + _INDEX(5)]
        s_6 += row[index + _INDEX(6)] * row[index + _INDEX(6)]
        s_7 += row[index + _INDEX(7)] * row[index + _INDEX(7)]
    for column in range(end, len(row)):
        rest += row[_INDEX(column)] * row[_INDEX(column)]
    return ((s_0 + s_4) + (s_2 + s_6)) + ((s_1 + s_5) + (s_3 + s_7)) + rest


@compiled
def adagrad_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    sums: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: Number,
    eps: Number,
    steps_averaged: Number,
) -> None:
    """Take a step of row-wise AdaGrad in place: G += mean(g**2), w -= lr * g / (sqrt(G) + eps)."""
    width, averaged = table.shape[1], len(average_offset) > 0
    share = table.dtype.type(1 / width)
    for i in range(len(rows)):
        ahead = _INDEX(rows[min(i + _AHEAD, len(rows) - 1)])
        prefetch_row(table, ahead)
        prefetch_row(sums, ahead)
        if averaged:
            prefetch_row(average_offset, ahead)
        index, row = _INDEX(i), _INDEX(rows[i])
        total = table.dtype.type(0)
        if width < _LANES:
            for column in range(width):
                total += gradients[index, _INDEX(column)] * gradients[index, _INDEX(column)]
        else:
            total = _sum_of_squares(gradients[index])
        total = sums[row, 0] + total * share
        sums[row, 0] = total
        rate = lr / (np.sqrt(total) + eps)
        for column in range(width):
            table[row, _INDEX(column)] -= rate * gradients[index, _INDEX(column)]
        if averaged:  # not in the loop above: its vector loads would be masked, which is slow
            for column in range(width):
                average_offset[row, _INDEX(column)] += steps_averaged * (rate * gradients[index, _INDEX(column)])


@compiled
def adam_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    means: NDArray[Any],  # (n_rows, n_columns)
    squares: NDArray[Any],  # (n_rows, 1)
    steps: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: Number,
    beta_1: Number,
    beta_2: Number,
    eps: Number,
    steps_averaged: Number,
) -> None:
    """Take a step of row-wise Adam in place; each row has a step count of its own."""
    width, averaged = table.shape[1], len(average_offset) > 0
    one, share = table.dtype.type(1), table.dtype.type(1 / width)
    for i in range(len(rows)):
        ahead = _INDEX(rows[min(i + _AHEAD, len(rows) - 1)])
        prefetch_row(table, ahead)
        prefetch_row(means, ahead)
        prefetch_row(squares, ahead)
        prefetch_row(steps, ahead)
        index, row = _INDEX(i), _INDEX(rows[i])
        for column in range(width):
            mean = beta_1 * means[row, _INDEX(column)]
            means[row, _INDEX(column)] = mean + (one - beta_1) * gradients[index, _INDEX(column)]
        squares[row, 0] = beta_2 * squares[row, 0] + (one - beta_2) * _sum_of_squares(gradients[index]) * share
        steps[row, 0] += one
        size = np.sqrt(squares[row, 0] / (one - beta_2 ** steps[row, 0])) + eps
        rate = lr / ((one - beta_1 ** steps[row, 0]) * size)
        for column in range(width):
            table[row, _INDEX(column)] -= rate * means[row, _INDEX(column)]
        if averaged:
            for column in range(width):
                average_offset[row, _INDEX(column)] += steps_averaged * (rate * means[row, _INDEX(column)])


@compiled
def sgd_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    steps: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: Number,
    steps_averaged: Number,
) -> None:
    """Take a step of stochastic gradient descent in place, w -= lr * g, and count the steps of each row."""
    width, averaged = table.shape[1], len(average_offset) > 0
    one = table.dtype.type(1)
    for i in range(len(rows)):
        ahead = _INDEX(rows[min(i + _AHEAD, len(rows) - 1)])
        prefetch_row(table, ahead)
        prefetch_row(steps, ahead)
        index, row = _INDEX(i), _INDEX(rows[i])
        steps[row, 0] += one
        for column in range(width):
            table[row, _INDEX(column)] -= lr * gradients[index, _INDEX(column)]
        if averaged:
            for column in range(width):
                average_offset[row, _INDEX(column)] += steps_averaged * (lr * gradients[index, _INDEX(column)])


@compiled
def decay_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    decay: Number,
    steps_averaged: Number,
) -> None:
    """Subtract ``decay`` times themselves from rows in place."""
    width, averaged = table.shape[1], len(average_offset) > 0
    for i in range(len(rows)):
        prefetch_row(table, _INDEX(rows[min(i + _AHEAD, len(rows) - 1)]))
        row = _INDEX(rows[i])
        if averaged:
            for column in range(width):
                average_offset[row, _INDEX(column)] += steps_averaged * (decay * table[row, _INDEX(column)])
        for column in range(width):
            table[row, _INDEX(column)] -= decay * table[row, _INDEX(column)]


@compiled
def are_ascending(
    rows: NDArray[np.int64],  # (n,)
) -> bool:
    """Check that integers strictly ascend."""
    ascending = True
    for i in range(1, len(rows)):
        ascending &= rows[i - 1] < rows[i]
    return ascending


@compiled
def add_average_offset(
    table: NDArray[Any],  # (n_rows, n_columns)
    average_offset: NDArray[Any],  # (n_rows, n_columns)
    touched: NDArray[Any],  # (n_rows,): not zero for rows that ever took a step
    scale: Number,
) -> None:
    """Add ``scale * average_offset`` to the touched rows of a table in place; the others are not even read."""
    for row in range(len(table)):
        if touched[row] != 0:
            for column in range(table.shape[1]):
                table[row, column] += scale * average_offset[row, column]
