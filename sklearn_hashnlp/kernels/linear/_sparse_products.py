"""Products of sparse and dense matrices in float32, by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


def add_product(
    indptr: NDArray[Any],  # (n_rows + 1,): of a CSR matrix
    indices: NDArray[Any],  # (n_values,)
    values: NDArray[np.float32],
    dense: NDArray[np.float32],  # (n_columns, width)
    out: NDArray[np.float32],  # (n_rows, width): the product is added to it
) -> None:
    """Add the product of a CSR and a dense matrix to ``out``, summing a row's entries in order."""
    rows = np.ascontiguousarray(out)
    _native.add_product(
        indptr,
        np.ascontiguousarray(indices, indptr.dtype),
        values,
        np.ascontiguousarray(dense),
        rows,
    )
    if rows is not out:
        out[:] = rows


def pair_fingerprints(
    words: NDArray[np.uint64],  # (n_words,): a fingerprint of each word
    ids: NDArray[Any],  # rows of word ids
    offsets: NDArray[np.int64],  # (n_rows + 1,)
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the fingerprints of pairs of neighboring words in each row, and the row offsets."""
    return _native.pair_fingerprints(words, ids, offsets)
