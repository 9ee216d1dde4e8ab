"""Inverse document frequencies, the initial importance weights of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.nn import HashEmbeddingBag

_MAX_FREQUENCY = np.iinfo(np.int32).max


def initialize_importance(
    bag: HashEmbeddingBag,
    columns: NDArray[Any],
    n_rows: int,
    divisor: float | None = None,
    frequencies: NDArray[np.int32] | None = None,  # (num_embeddings,)
) -> float:
    """Write inverse document frequencies into those importance rows that are still zero; return their divisor.

    The document frequencies are added to ``frequencies``, for the merging of models.
    """
    if bag.importance is None:
        raise ValueError(f"A bag of variant {bag.variant!r} has no importance weights to initialize.")
    rows, counts = count_rows(columns, bag._constants[0], bag.num_embeddings)
    weights = smoothed_idf(counts, n_rows)
    if frequencies is not None:
        frequencies[rows] = np.minimum(frequencies[rows] + counts.astype(np.int64), _MAX_FREQUENCY)
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
