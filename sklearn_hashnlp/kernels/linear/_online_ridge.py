"""Ridge regression one row after the other, with a diagonal in place of the inverse covariance matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows

_INDEX = np.uint64  # a signed index costs a test for negative ones


def learn_rows(
    rows: LinearRows,
    targets: NDArray[np.float64],  # (n_rows,)
    costs: NDArray[np.float32],  # (n_rows,): weight of each row in the loss
    weights: NDArray[np.float32],  # (n_columns,): updated in place, as the curvature
    curvature: NDArray[np.float32],  # (n_columns,): sums of squared values over all rows so far
    bias: NDArray[np.float64],  # (2,): the bias and its curvature; it is not penalized
    alpha: float,
) -> None:
    """Move the weights towards the target of each row; a column that many rows had moves less."""
    _learn(rows, targets, costs, weights, curvature, bias, np.float64(alpha))


@compiled
def _learn(
    rows: LinearRows,
    targets: NDArray[np.float64],
    costs: NDArray[np.float32],
    weights: NDArray[np.float32],
    curvature: NDArray[np.float32],
    bias: NDArray[np.float64],
    alpha: Number,
) -> None:
    # The exact minimum of cost * (target - score)**2 + sum(precision * change**2) over the changes of the weights of a
    # row: change = value / precision * gain * (target - score).
    offsets, columns, values, _ = rows
    for row in range(_INDEX(len(targets))):
        start, stop, cost = _INDEX(offsets[row]), _INDEX(offsets[row + _INDEX(1)]), np.float64(costs[row])
        score, size = bias[0], 1.0 / bias[1]
        for at in range(start, stop):
            value, column = np.float64(values[at]), _INDEX(columns[at])
            score += value * weights[column]
            size += value * value / (alpha + curvature[column])
        step = cost * (targets[row] - score) / (1.0 + cost * size)
        bias[0] += step / bias[1]
        bias[1] += cost
        for at in range(start, stop):
            value, column = np.float64(values[at]), _INDEX(columns[at])
            weights[column] += np.float32(value * step / (alpha + curvature[column]))
            curvature[column] += np.float32(cost * value * value)
