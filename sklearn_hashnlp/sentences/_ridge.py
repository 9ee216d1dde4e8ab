"""Ridge regression with a sparse design matrix and many targets, by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.kernels.linear._sparse_products import add_product

_TARGET_BLOCK = 64  # targets that are fitted at once, which bounds the memory
_SOLVED = 1e-13  # of the first squared gradient: the resolution of float32
_TINY = np.finfo(np.float64).tiny

Rows = NDArray[np.float32]


class Design(NamedTuple):
    """A design matrix, ``outer @ inner + direct``: the n-grams of a word are stored once, not for each text."""

    outer: csr_array  # (n_rows, n_groups)
    inner: csr_array  # (n_groups, n_columns)
    direct: csr_array  # (n_rows, n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n_rows, n_columns = self.direct.shape
        return int(n_rows), int(n_columns)

    def transpose(self) -> Design:
        """Return the transposed matrix."""
        return Design(*(csr_array(part.T) for part in (self.inner, self.outer, self.direct)))

    def __matmul__(self, dense: Rows) -> Rows:
        return multiply(self.direct, dense, multiply(self.outer, multiply(self.inner, dense)))


def multiply(matrix: csr_array, dense: Rows, out: Rows | None = None) -> Rows:
    """Return the product of a sparse and a dense matrix, in float32, added to ``out``, for any number of threads."""
    out = np.zeros((matrix.shape[0], dense.shape[1]), dtype=np.float32) if out is None else out
    add_product(matrix.indptr, matrix.indices.astype(np.int32, copy=False), matrix.data, dense, out)
    return out


def ridge_regression(
    design: Design,
    targets: Rows,  # (n_rows, n_targets)
    alpha: float,
    *,
    n_steps: int,
    n_threads: int = 1,
    report: Callable[[int, int], Any] | None = None,  # called with the number of targets fitted, and of all
) -> tuple[Rows, NDArray[np.float64]]:
    """Return the coefficients that minimize |design @ coefficients - targets|^2 + alpha |coefficients|^2.

    Also the sums of squared residuals, at the start and after each step, of all targets together.
    """
    coefficients = np.zeros((design.shape[1], targets.shape[1]), dtype=np.float32)
    blocks = [slice(start, start + _TARGET_BLOCK) for start in range(0, targets.shape[1], _TARGET_BLOCK)]
    transposed = design.transpose()

    def fit(block: slice) -> NDArray[np.float64]:
        residuals = targets[:, block].copy()
        return _fit_block(design, transposed, residuals, alpha, n_steps, coefficients[:, block])

    losses = np.zeros(n_steps + 1)
    for block, losses_of_block in zip(blocks, map_in_order(fit, blocks, n_threads), strict=True):
        losses += losses_of_block
        if report is not None:
            report(min(block.stop, targets.shape[1]), targets.shape[1])
    return coefficients, losses


# Hestenes & Stiefel (1952), for the normal equations. Each target has its own step length; all targets of a block
# share the products with the design matrix, which cost most.
def _fit_block(
    design: Design, transposed: Design, residuals: Rows, alpha: float, n_steps: int, out: Rows
) -> NDArray[np.float64]:
    """Fit some targets, which become their residuals, and write their coefficients to ``out``."""
    solution = np.zeros((design.shape[1], residuals.shape[1]), dtype=np.float32)
    gradient = transposed @ residuals
    direction, square = gradient.copy(), _dot(gradient, gradient)
    losses, smallest = [_dot(residuals, residuals).sum()], _SOLVED * square
    for _ in range(n_steps):
        change = design @ direction
        curvature = transposed @ change
        curvature += np.float32(alpha) * direction
        # The direction of a solved target consists of rounding errors, or of zeros.
        step = (square / np.maximum(_dot(direction, curvature), _TINY) * (square > smallest)).astype(np.float32)
        solution += step * direction
        residuals -= step * change
        gradient -= step * curvature
        before, square = square, _dot(gradient, gradient)
        direction *= (square / np.maximum(before, _TINY)).astype(np.float32)
        direction += gradient
        losses.append(_dot(residuals, residuals).sum())
    out[:] = solution
    return np.array(losses)


def _dot(left: Rows, right: Rows) -> NDArray[np.float64]:
    """Return the dot products of columns, summed in float64 row by row."""
    products: NDArray[np.float64] = np.einsum("ij,ij->j", left, right, dtype=np.float64)
    return products
