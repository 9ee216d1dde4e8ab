"""Any finite matrix to the one form that the networks read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

_LARGE, _SMALL = 1e15, 1e-15  # the squares of what lies between are ordinary float32 numbers
_MOST_COLUMNS = 2**31 - 1


def canonical_rows(X: Any, *, any_scale: bool) -> csr_array:
    """Sort the columns of every row, add duplicates up and drop stored zeros, which are no occurrences."""
    if X.shape[1] > _MOST_COLUMNS:
        raise ValueError(
            f"X has {X.shape[1]} columns, and at most 2**31 - 1 can be told apart. Make fewer, for example by "
            "HashingNgramVectorizer(n_features=2**31 - 1)."
        )
    matrix = csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
        if not np.isfinite(matrix.data).all():
            raise ValueError("X has entries of the same row and column that add up to infinity in float32.")
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    if not matrix.nnz or (matrix.data.min() >= _SMALL and matrix.data.max() <= _LARGE):
        return matrix  # counts, nearly always: two looks at what is there
    if any_scale:
        # The appended zero gives an empty last row a place to begin; empty rows are then repeated no times.
        largest = np.maximum.reduceat(np.append(np.abs(matrix.data), np.float32(0)), matrix.indptr[:-1])
        strange = (largest > _LARGE) | (largest < _SMALL)
        if strange.any():
            divisor = np.where(strange, largest, np.float32(1))  # dividing by 1 leaves the other rows as they are
            data = matrix.data / np.repeat(divisor, np.diff(matrix.indptr))
            matrix = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        place = int(np.abs(matrix.data).argmax())
        if abs(matrix.data[place]) > _LARGE:
            row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
            raise ValueError(
                f"X holds {matrix.data[place]:g} in row {row}, and normalize=None takes values up to {_LARGE:g} in "
                "size only: float32 cannot hold the squares of larger ones. Scale X down, or set normalize='l2'."
            )
    return matrix
