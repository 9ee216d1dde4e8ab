"""Inverse document frequencies, the initial importance weights of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.nn import HashEmbeddingBag


def inverse_document_frequency(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the importance rows that occur, and their inverse document frequencies."""
    rows, counts = count_rows(columns, bag._constants[0], bag.num_embeddings)
    frequency = np.minimum(counts, n_rows)  # features that collide may count a document twice
    return rows, np.log((1 + n_rows) / (1 + frequency)) + 1


def initialize_importance(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int, divisor: float | None = None
) -> float:
    """Write inverse document frequencies into those importance rows that are still zero; return their divisor."""
    if bag.importance is None:
        raise ValueError(f"A bag of variant {bag.variant!r} has no importance weights to initialize.")
    rows, weights = inverse_document_frequency(bag, columns, n_rows)
    table = bag.importance.detach()
    indices = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = float(weights.mean()) if len(weights) else 1.0
    else:
        untouched = ~table[indices].any(dim=1)
        indices, weights = indices[untouched], weights[untouched.cpu().numpy()]
    initial = torch.from_numpy((weights / divisor).astype(np.float32))
    table[indices] = initial.unsqueeze(1).to(table.device, table.dtype)
    return divisor
