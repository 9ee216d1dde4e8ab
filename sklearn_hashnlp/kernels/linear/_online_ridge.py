"""Ridge regression one row after the other, with a diagonal in place of the inverse covariance matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows


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
    _native.learn_rows(*rows, targets, costs, weights, curvature, bias, alpha)
