"""How much the n-grams of a row tell: the squared lengths of rows by their inverse document frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, row_of


@compiled
def row_evidence(
    indices: NDArray[Any],  # (n_values,): columns, of which the low 32 bits count
    indptr: NDArray[Any],  # (n_rows + 1,)
    counts: NDArray[np.float32],  # (n_values,)
    importance: NDArray[np.float32],  # (n_embeddings, k)
    constants: NDArray[np.uint64],  # (k + 1, 3)
    common: float,  # importance weight of a column that all training rows have
    rare: float,  # columns of at least this importance weight are left out
    enough: float,  # sums stop at this value
) -> NDArray[np.float64]:  # (n_rows,)
    """Return sums of squared counts times importance weights above ``common``; -1 for rows without a known column."""
    a, b = constants[0, 0], constants[0, 1]
    evidence = np.empty(len(indptr) - 1, dtype=np.float64)
    n_rows = np.uint64(len(importance))
    for row in range(len(evidence)):
        total = -1.0
        for at in range(indptr[row], indptr[row + 1]):
            column = row_of(indices[at], mix_id(indices[at]), a, b, n_rows)
            for i in range(importance.shape[1]):
                weight = np.float64(abs(importance[column, i]))
                if weight > 0:
                    total = max(total, 0.0)
                if weight < rare:
                    # A negative value belongs to a vector next to the n-grams; all rows have its columns.
                    excess = weight - common if counts[at] >= 0 else weight
                    term = np.float64(counts[at]) * max(excess, 0.0)
                    total += term * term
            if total >= enough and total > 0:
                total = enough
                break
        evidence[row] = total
    return evidence
