"""The evidence of rows: their squared lengths by the inverse document frequencies of their n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, row_of

_INDEX = np.uint64  # a signed index costs a test for negative ones


def row_evidence(
    indices: NDArray[Any],  # (n_values,): columns, of which the low 32 bits count
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    counts: NDArray[np.float32],  # (n_values,)
    importance: NDArray[np.float32],  # (n_embeddings, k)
    constants: NDArray[np.uint64],  # (k + 1, 3)
    common: float,  # importance weight of a column that all training rows have
    rare: float,  # columns of at least this importance weight are left out
    enough: float,  # sums stop at this value
) -> NDArray[np.float64]:  # (n_rows,)
    """Return sums of squared counts times importance weights above ``common``; -1 for rows without a known column."""
    evidence = np.empty(len(indptr) - 1, dtype=np.float64)
    _sum_evidence(indices, indptr, counts, importance, constants, common, rare, enough, evidence)
    return evidence


@compiled
def _sum_evidence(
    indices: NDArray[Any],
    indptr: NDArray[np.int64],
    counts: NDArray[np.float32],
    importance: NDArray[np.float32],
    constants: NDArray[np.uint64],
    common: Number,
    rare: Number,
    enough: Number,
    evidence: NDArray[np.float64],
) -> None:
    a, b = constants[0, 0], constants[0, 1]
    n_rows = _INDEX(len(importance))
    for row in range(_INDEX(len(evidence))):
        total = -1.0
        for at in range(_INDEX(indptr[row]), _INDEX(indptr[row + _INDEX(1)])):
            column = _INDEX(row_of(indices[at], mix_id(indices[at]), a, b, n_rows))
            for i in range(_INDEX(importance.shape[1])):
                weight = np.float64(abs(importance[column, i]))
                if weight > 0 and total < 0:
                    total = 0.0
                if weight < rare:
                    # A negative value belongs to a vector next to the n-grams; all rows have its columns.
                    excess = weight - common if counts[at] >= 0 else weight
                    if excess > 0:
                        term = np.float64(counts[at]) * excess
                        total += term * term
            if total >= enough and total > 0:
                total = enough
                break
        evidence[row] = total
