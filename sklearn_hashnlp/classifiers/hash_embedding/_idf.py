"""Inverse document frequencies: initial importance weights of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec

if TYPE_CHECKING:
    from sklearn_hashnlp.nn import HashEmbeddingBag

_MAX_FREQUENCY = np.iinfo(np.int32).max


def idf_of_rows(
    spec: TableSpec, columns: NDArray[Any], n_rows: int, frequencies: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Add to the document frequencies (num_embeddings,), and return the rows of the columns and their idf."""
    rows, counts = count_rows(columns, spec.constants[0], spec.num_embeddings)
    if frequencies is not None:
        frequencies[rows] = np.minimum(frequencies[rows] + counts.astype(np.int64), _MAX_FREQUENCY)
    return rows, smoothed_idf(counts, n_rows)


def mean_idf(weights: NDArray[np.float64]) -> float:
    """Return the divisor of inverse document frequencies."""
    return float(weights.mean()) if len(weights) else 1.0


def initialize_importance(
    bag: HashEmbeddingBag,
    columns: NDArray[Any],
    n_rows: int,
    divisor: float | None = None,
    frequencies: NDArray[np.int32] | None = None,
) -> float:
    """Set importance rows that are still zero to inverse document frequencies; return the divisor."""
    import torch

    assert bag.importance is not None
    rows, weights = idf_of_rows(bag.spec, columns, n_rows, frequencies)
    table = bag.importance.detach()
    indices = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = mean_idf(weights)
    else:
        untouched = ~table[indices].any(dim=1)
        indices, weights = indices[untouched], weights[untouched.cpu().numpy()]
    initial = torch.from_numpy((weights / divisor).astype(np.float32))
    table[indices] = initial.unsqueeze(1).to(table.device, table.dtype)
    return divisor
