"""Optimizer steps on the rows of a table that have a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


def adagrad_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    sums: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: float,
    eps: float,
    steps_averaged: float,
) -> None:
    """Take a step of row-wise AdaGrad in place: G += mean(g**2), w -= lr * g / (sqrt(G) + eps)."""
    _native.adagrad_rows(table, sums, average_offset, rows, gradients, lr, eps, steps_averaged)


def adam_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    means: NDArray[Any],  # (n_rows, n_columns)
    squares: NDArray[Any],  # (n_rows, 1)
    steps: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: float,
    beta_1: float,
    beta_2: float,
    eps: float,
    steps_averaged: float,
) -> None:
    """Take a step of row-wise Adam in place; each row has a step count of its own."""
    rates = lr, beta_1, beta_2, eps
    _native.adam_rows(
        table, means, squares, steps, average_offset, rows, gradients, *rates, steps_averaged
    )


def sgd_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    steps: NDArray[Any],  # (n_rows, 1)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    gradients: NDArray[Any],  # (n, n_columns)
    lr: float,
    steps_averaged: float,
) -> None:
    """Take a step of SGD in place, w -= lr * g, and count the steps of each row."""
    _native.sgd_rows(table, steps, average_offset, rows, gradients, lr, steps_averaged)


def decay_rows(
    table: NDArray[Any],  # (n_rows, n_columns)
    average_offset: NDArray[Any],  # (n_rows, n_columns), or (0, n_columns) for no averaging
    rows: NDArray[np.int64],  # (n,): each row once
    decay: float,
    steps_averaged: float,
) -> None:
    """Subtract ``decay`` times themselves from rows in place."""
    _native.decay_rows(table, average_offset, rows, decay, steps_averaged)


def are_ascending(
    rows: NDArray[np.int64],  # (n,)
) -> bool:
    """Check that integers strictly ascend."""
    return bool((rows[1:] > rows[:-1]).all())


def add_average_offset(
    table: NDArray[Any],  # (n_rows, n_columns)
    average_offset: NDArray[Any],  # (n_rows, n_columns)
    touched: NDArray[Any],  # (n_rows,): not zero for rows that ever took a step
    scale: float,
) -> None:
    """Add ``scale * average_offset`` to the touched rows of a table in place."""
    _native.add_average_offset(table, average_offset, touched, scale)
