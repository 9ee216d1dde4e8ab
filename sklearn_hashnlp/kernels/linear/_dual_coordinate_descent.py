"""Dual coordinate descent for linear support vector machines, and the log-odds of naive Bayes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

_INDEX = np.uint64  # a signed index costs a test for negative ones
_FEW_OUTPUTS = _INDEX(7)
_AHEAD = 16  # values between the prefetch of a row and its use


class LinearRows(NamedTuple):
    """Sparse rows and their targets, one or several outputs each."""

    offsets: NDArray[np.int64]  # (n_rows + 1,)
    columns: NDArray[np.int32]  # (n_values,)
    values: NDArray[np.float32]  # (n_values,)
    labels: NDArray[np.int64]  # (n_rows,): the output that a row is positive for, if any


def normalize_rows(
    values: NDArray[np.float32],
    offsets: NDArray[np.int64],
    norm: Literal["l1", "l2"] = "l2",
    n_hashes: int = 1,  # times that each value of a row occurs; they count once
) -> None:
    """Divide the values of each row by their norm, in place."""
    lengths = np.diff(offsets)
    sizes = np.square(values, dtype=np.float64) if norm == "l2" else np.abs(values, dtype=np.float64)
    norms = np.bincount(np.repeat(np.arange(len(lengths)), lengths), sizes, len(lengths)) / n_hashes
    norms = np.sqrt(norms) if norm == "l2" else norms
    norms[~(norms > 0)] = 1
    values /= np.repeat(norms, lengths)


def squared_norms(rows: LinearRows, n_columns: int) -> NDArray[np.float32]:  # (n_rows,)
    """Return the squared Euclidean norms of rows and a bias of 1; values of one column in one row are summed first."""
    squares = np.ones(len(rows.labels), dtype=np.float32)
    _add_squares(rows, np.zeros(n_columns, dtype=np.float32), squares)
    return squares


@compiled
def _add_squares(rows: LinearRows, sums: NDArray[np.float32], squares: NDArray[np.float32]) -> None:
    offsets, columns, values, _ = rows
    for row in range(_INDEX(len(squares))):
        start, stop = _INDEX(offsets[row]), _INDEX(offsets[row + _INDEX(1)])
        for at in range(start, stop):
            sums[_INDEX(columns[at])] += values[at]
        for at in range(start, stop):
            squares[row] += values[at] * sums[_INDEX(columns[at])]
        for at in range(start, stop):
            sums[_INDEX(columns[at])] = 0


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
        if n_outputs <= _FEW_OUTPUTS:
            _add_few_scores(columns, values, weights, start, stop, scores)
        else:
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


@inner
def _add_few_scores(
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    weights: NDArray[np.float32],
    start: Number,
    stop: Number,
    scores: NDArray[np.float32],
) -> None:
    # Four sums at a time stay in registers: each of a loop over outputs would wait for its last value in memory.
    n_outputs, last = _INDEX(len(scores)), _INDEX(len(columns) - 1)
    first = _INDEX(0)
    while first < n_outputs:
        # The other sums of the last outputs are those of the first one again.
        a, b, c, d = first, first + _INDEX(1), first + _INDEX(2), first + _INDEX(3)
        b, c, d = b if b < n_outputs else a, c if c < n_outputs else a, d if d < n_outputs else a
        of_a, of_b, of_c, of_d = scores[a], scores[b], scores[c], scores[d]
        for at in range(start, stop):
            ahead = at + _INDEX(_AHEAD)
            prefetch_row(weights, _INDEX(columns[ahead if ahead < last else last]))
            value, column = values[at], _INDEX(columns[at])
            of_a += value * weights[column, a]
            of_b += value * weights[column, b]
            of_c += value * weights[column, c]
            of_d += value * weights[column, d]
        scores[d], scores[c], scores[b], scores[a] = of_d, of_c, of_b, of_a
        first += _INDEX(4)


def naive_bayes_log_odds(
    rows: LinearRows,
    costs: NDArray[np.float32],  # (n_rows,): weight of each row
    n_columns: int,
    n_outputs: int,
    smoothing: float,
) -> NDArray[np.float32]:  # (n_columns, n_outputs)
    """Return the log-odds of each column, between the rows of an output and all other rows (complement naive Bayes)."""
    own, total = np.zeros((n_columns, n_outputs), dtype=np.float32), np.zeros(n_columns, dtype=np.float32)
    add_by_label(rows, costs, own, total)
    to_log_odds(own, total, smoothing)
    return own


@compiled
def add_by_label(
    rows: LinearRows,
    costs: NDArray[np.float32],  # (n_rows,): weight of each row
    own: NDArray[np.float32],  # (n_columns, n_outputs): sums over the rows of an output
    total: NDArray[np.float32],  # (n_columns,): sums over all rows; minus infinity with a negative value
) -> None:
    """Add the values of rows to the sums of their columns."""
    offsets, columns, values, labels = rows
    zero = np.float32(0)
    for row in range(len(labels)):
        label = labels[row]
        for at in range(offsets[row], offsets[row + 1]):
            column, value = columns[at], costs[row] * values[at]
            total[column] += value if values[at] >= zero else -np.float32(np.inf)
            if label >= 0:
                own[column, label] += value


def to_log_odds(own: NDArray[np.float32], total: NDArray[np.float32], smoothing: float) -> None:
    """Convert the sums of :func:`add_by_label` to log-odds, in ``own``: zero for a column with a negative value."""
    _to_log_odds(own, total, np.float32(smoothing), np.full(own.shape[1], smoothing * len(total)))


@compiled
def _to_log_odds(
    own: NDArray[np.float32],
    total: NDArray[np.float32],
    smoothing: Number,
    sums: NDArray[np.float64],  # (n_outputs,): smoothed sums of no values; memory
) -> None:
    n_outputs, zero = len(sums), np.float32(0)
    everything = 2 * sums[0]
    for column in range(len(total)):
        if total[column] >= zero:
            everything += total[column]
            for output in range(n_outputs):
                sums[output] += own[column, output]
    for output in range(n_outputs):
        sums[output] = np.log(sums[output]) - np.log(everything - sums[output])
    for column in range(len(total)):
        for output in range(n_outputs):
            other = max(total[column] - own[column, output], zero)  # the difference may round below zero
            odds = np.log((own[column, output] + smoothing) / (other + smoothing)) - np.float32(sums[output])
            own[column, output] = odds if total[column] >= zero else zero
