"""How rare a feature is among the training rows: where its importance starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._hash_ids import count_rows
from sklearn_hashnlp.nn import HashEmbeddingBag


def inverse_document_frequency(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Weigh the importance rows that occur by the number of documents they occur in."""
    rows, counts = count_rows(columns, bag._constants[0], bag.num_embeddings)
    frequency = np.minimum(counts, n_rows)  # features may collide
    return rows, np.log((1 + n_rows) / (1 + frequency)) + 1


def start_from_document_frequency(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int, divisor: float | None = None
) -> float:
    """Write inverse document frequencies into an importance table, where nothing was written yet."""
    if bag.importance is None:
        raise ValueError(f"A bag of variant {bag.variant!r} has no importance to start.")
    rows, weights = inverse_document_frequency(bag, columns, n_rows)
    table = bag.importance.detach()
    places = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = float(weights.mean()) if len(weights) else 1.0
    else:
        untouched = ~table[places].any(dim=1)
        places, weights = places[untouched], weights[untouched.cpu().numpy()]
    start = torch.from_numpy((weights / divisor).astype(np.float32))
    table[places] = start.unsqueeze(1).to(table.device, table.dtype)
    return divisor
