"""Hashes of n-grams counted into the rows of a CSR matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged

NO_NORM = 0
L1 = 1
L2 = 2
"""The norms that rows are divided by."""


class Rows(NamedTuple):
    """Rows of a CSR matrix, with scipy's names of the arrays."""

    indices: NDArray[np.int32]
    data: NDArray[Any]
    indptr: NDArray[np.int64]


def new_rows(dtype: type[np.floating[Any]]) -> Any:
    """Return native rows that grow."""
    return _native.RowsFloat32() if dtype is np.float32 else _native.RowsFloat64()


def count_hashes(
    hashes: Ragged,
    *,
    n_features: int,
    alternate_sign: bool = False,
    binary: bool = False,
    norm: int = NO_NORM,
    damped: bool = False,
    dtype: type[np.floating[Any]] = np.float64,
) -> Rows:
    """Count the occurrences of columns in each row; hash h has column ``abs(h) % n_features``."""
    # A column with canceled signs stays in the matrix as 0, as in scikit-learn.
    rows = new_rows(dtype)
    options = _native.CountOptions(n_features, alternate_sign, binary, norm, damped, 1.0)
    rows.append_hashes(*hashes, options)
    return Rows(*rows.release())
