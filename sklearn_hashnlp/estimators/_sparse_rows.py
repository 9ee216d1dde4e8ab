"""Any finite matrix to the one form that the networks read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

_LARGE, _SMALL = 1e15, 1e-15  # the squares of what lies between are ordinary float32 numbers


def canonical_rows(X: Any, *, any_scale: bool) -> csr_array:
    """Sort the columns of every row, add duplicates up and drop stored zeros, which are no occurrences.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features), dtype float32
        Finite values of any sign. It is left as it is.
    any_scale : bool
        Whether a row may be rescaled, since it will be divided by its norm. Rows with values whose squares float32
        cannot hold then are.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_samples, n_features)
        The same rows; arrays are shared with ``X`` where nothing had to change.

    Examples
    --------
    >>> import numpy as np
    >>> rows = canonical_rows(np.array([[0, 2, -1], [0, 0, 0]], dtype=np.float32), any_scale=False)
    >>> rows.indices.tolist(), rows.data.tolist(), rows.indptr.tolist()
    ([1, 2], [2.0, -1.0], [0, 2, 2])
    """
    matrix = csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    if any_scale and matrix.nnz:
        size = np.abs(matrix.data)
        if size.max() > _LARGE or size.min() < _SMALL:
            # The appended zero gives an empty last row a place to begin; empty rows are then repeated no times.
            largest = np.maximum.reduceat(np.append(size, np.float32(0)), matrix.indptr[:-1])
            data = matrix.data / np.repeat(largest, np.diff(matrix.indptr))
            matrix = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix
