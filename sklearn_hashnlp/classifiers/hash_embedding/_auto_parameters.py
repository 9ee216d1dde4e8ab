"""Values of parameters of HashEmbeddingClassifier that are "auto"."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

_DIM_WITH_HIDDEN_LAYERS = 20
_LARGEST_DIM = 32  # up to 1024 classes
_EPOCHS_WITH_EARLY_STOPPING = 20
_MANY_ROWS = 20_000  # with more, a second epoch does not improve the accuracy


def resolve_embedding_dim(
    value: int | Literal["auto"], n_classes: int, *, hidden_layers: bool = False, largest: int = _LARGEST_DIM
) -> int:
    """Return the dimension; "auto" is a multiple of 4 that depends on the number of classes."""
    if value != "auto":
        return int(value)
    if hidden_layers:
        return _DIM_WITH_HIDDEN_LAYERS
    wanted = min(n_classes, max(largest, math.isqrt(n_classes)))
    return int(np.clip(-(-wanted // 4) * 4, 4, max(128, -(-largest // 4) * 4)))


def resolve_epochs(value: int | Literal["auto"], n_rows: int, *, early_stopping: bool) -> int:
    """Return the number of epochs of stochastic gradients."""
    if value != "auto":
        return int(value)
    if early_stopping:
        return _EPOCHS_WITH_EARLY_STOPPING
    return 2 if n_rows < _MANY_ROWS else 1


def resolve_batch_size(value: int | Literal["auto"], n_rows: int) -> int:
    """Return the number of rows per batch."""
    return int(2 ** np.clip(np.round(np.log2(n_rows / 128)), 5, 8)) if value == "auto" else int(value)
