"""Dual coordinate descent for linear support vector machines, and the log-odds of naive Bayes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


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
    sizes = (
        np.square(values, dtype=np.float64) if norm == "l2" else np.abs(values, dtype=np.float64)
    )
    norms = np.bincount(np.repeat(np.arange(len(lengths)), lengths), sizes, len(lengths)) / n_hashes
    norms = np.sqrt(norms) if norm == "l2" else norms
    norms[~(norms > 0)] = 1
    values /= np.repeat(norms, lengths)


def squared_norms(rows: LinearRows, n_columns: int) -> NDArray[np.float32]:  # (n_rows,)
    """Return the squared norms of rows and a bias of 1, after summing values of equal columns."""
    squares = np.ones(len(rows.labels), dtype=np.float32)
    _native.add_squares(*rows, np.zeros(n_columns, dtype=np.float32), squares)
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
    _native.descend(*rows, squares, costs, order, weights, bias, dual)


def naive_bayes_log_odds(
    rows: LinearRows,
    costs: NDArray[np.float32],  # (n_rows,): weight of each row
    n_columns: int,
    n_outputs: int,
    smoothing: float,
) -> NDArray[np.float32]:  # (n_columns, n_outputs)
    """Return complement naive Bayes log-odds of columns, an output's rows against all others."""
    own, total = (
        np.zeros((n_columns, n_outputs), dtype=np.float32),
        np.zeros(n_columns, dtype=np.float32),
    )
    add_by_label(rows, costs, own, total)
    to_log_odds(own, total, smoothing)
    return own


def add_by_label(
    rows: LinearRows,
    costs: NDArray[np.float32],  # (n_rows,): weight of each row
    own: NDArray[np.float32],  # (n_columns, n_outputs): sums over the rows of an output
    # (n_columns,): sums over all rows; minus infinity with a negative value
    total: NDArray[np.float32],
) -> None:
    """Add the values of rows to the sums of their columns."""
    _native.add_by_label(*rows, costs, own, total)


def to_log_odds(own: NDArray[np.float32], total: NDArray[np.float32], smoothing: float) -> None:
    """Convert the sums in ``own`` to log-odds, zero for a column with a negative value."""
    _native.to_log_odds(own, total, smoothing, np.full(own.shape[1], smoothing * len(total)))
