"""One step of an optimiser on the rows of a table that have a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

_INDEX = np.uint64  # for a signed index the compiler has to ask whether it counts from the end
_LANES = 8  # sums side by side; narrower rows do without
_AHEAD = 16  # rows between asking for one and using it


@inlined
def _sum_of_squares(row: NDArray[Any]) -> Number:
    """Add up eight sums side by side, which a processor does at once, and in the same order on every machine."""
    s_0 = s_1 = s_2 = s_3 = s_4 = s_5 = s_6 = s_7 = rest = row.dtype.type(0)
    end = len(row) - len(row) % _LANES
    for column in range(0, end, _LANES):
        at = _INDEX(column)
        s_0 += row[at] * row[at]
        s_1 += row[at + _INDEX(1)] * row[at + _INDEX(1)]
        s_2 += row[at + _INDEX(2)] * row[at + _INDEX(2)]
        s_3 += row[at + _INDEX(3)] * row[at + _INDEX(3)]
        s_4 += row[at + _INDEX(4)] * row[at + _INDEX(4)]
        s_5 += row[at + _INDEX(5)] * row[at + _INDEX(5)]
        s_6 += row[at + _INDEX(6)] * row[at + _INDEX(6)]
        s_7 += row[at + _INDEX(7)] * row[at + _INDEX(7)]
    for column in range(end, len(row)):
        rest += row[_INDEX(column)] * row[_INDEX(column)]
    return ((s_0 + s_4) + (s_2 + s_6)) + ((s_1 + s_5) + (s_3 + s_7)) + rest


@compiled
def adagrad_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    sums: NDArray[Any],  # (n_rows, 1)
    drift: NDArray[Any],  # (n_rows, n_columns) or (0, n_columns)
    rows: NDArray[np.int64],  # (n,)
    gradients: NDArray[Any],  # (n, n_columns)
    lr: Number,
    eps: Number,
    age: Number,
) -> None:
    """Take a step of row-wise AdaGrad in place."""
    width, averaged = table.shape[1], len(drift) > 0
    share = table.dtype.type(1 / width)
    for at in range(len(rows)):
        ahead = _INDEX(rows[min(at + _AHEAD, len(rows) - 1)])
        prefetch_row(table, ahead)
        prefetch_row(sums, ahead)
        if averaged:
            prefetch_row(drift, ahead)
        place, row = _INDEX(at), _INDEX(rows[at])
        total = table.dtype.type(0)
        if width < _LANES:
            for column in range(width):
                total += gradients[place, _INDEX(column)] * gradients[place, _INDEX(column)]
        else:
            total = _sum_of_squares(gradients[place])
        total = sums[row, 0] + total * share
        sums[row, 0] = total
        rate = lr / (np.sqrt(total) + eps)
        for column in range(width):
            table[row, _INDEX(column)] -= rate * gradients[place, _INDEX(column)]
        if averaged:  # not within the loop above, which would then read memory that is not there, masked and slowly
            for column in range(width):
                drift[row, _INDEX(column)] += age * (rate * gradients[place, _INDEX(column)])


@compiled
def adam_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    means: NDArray[Any],  # (n_rows, n_columns)
    squares: NDArray[Any],  # (n_rows, 1)
    steps: NDArray[Any],  # (n_rows, 1)
    drift: NDArray[Any],  # (n_rows, n_columns) or (0, n_columns)
    rows: NDArray[np.int64],  # (n,)
    gradients: NDArray[Any],  # (n, n_columns)
    lr: Number,
    beta_1: Number,
    beta_2: Number,
    eps: Number,
    age: Number,
) -> None:
    """Take a step of row-wise Adam in place."""
    width, averaged = table.shape[1], len(drift) > 0
    one, share = table.dtype.type(1), table.dtype.type(1 / width)
    for at in range(len(rows)):
        ahead = _INDEX(rows[min(at + _AHEAD, len(rows) - 1)])
        prefetch_row(table, ahead)
        prefetch_row(means, ahead)
        prefetch_row(squares, ahead)
        prefetch_row(steps, ahead)
        place, row = _INDEX(at), _INDEX(rows[at])
        for column in range(width):
            mean = beta_1 * means[row, _INDEX(column)]
            means[row, _INDEX(column)] = mean + (one - beta_1) * gradients[place, _INDEX(column)]
        squares[row, 0] = beta_2 * squares[row, 0] + (one - beta_2) * _sum_of_squares(gradients[place]) * share
        steps[row, 0] += one
        size = np.sqrt(squares[row, 0] / (one - beta_2 ** steps[row, 0])) + eps
        rate = lr / ((one - beta_1 ** steps[row, 0]) * size)
        for column in range(width):
            table[row, _INDEX(column)] -= rate * means[row, _INDEX(column)]
        if averaged:
            for column in range(width):
                drift[row, _INDEX(column)] += age * (rate * means[row, _INDEX(column)])


@compiled
def are_ascending(
    rows: NDArray[np.int64],  # (n,)
) -> bool:
    """Return whether numbers strictly ascend."""
    ascending = True
    for at in range(1, len(rows)):
        ascending &= rows[at - 1] < rows[at]
    return ascending


@compiled
def add_drift(
    table: NDArray[Any],  # (n_rows, n_columns)
    drift: NDArray[Any],  # (n_rows, n_columns)
    marks: NDArray[Any],  # (n_rows,)
    scale: Number,
) -> None:
    """Add ``scale * drift`` to the marked rows of a table in place."""
    for row in range(len(table)):
        if marks[row] != 0:
            for column in range(table.shape[1]):
                table[row, column] += scale * drift[row, column]
