"""Windows of a running text: the words before some positions, gathered from one flat array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled


@compiled
def _gather(
    inputs: NDArray[Any],
    targets: NDArray[Any],
    positions: NDArray[Any],
    rows: NDArray[np.int64],
    contexts: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    width = contexts.shape[1]
    for at in range(len(rows)):
        position = positions[rows[at]]
        found[at] = targets[position]
        for column in range(width):
            contexts[at, column] = inputs[position - width + column]


def gather_windows(
    inputs: NDArray[Any],  # (n_words,)
    targets: NDArray[Any],  # (n_words,)
    positions: NDArray[Any],  # (n_windows,)
    rows: NDArray[np.int64],  # (n,)
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Gather the words at some positions of a text and the words before each of them."""
    contexts = np.empty((len(rows), width), dtype=np.int64)
    found = np.empty(len(rows), dtype=np.int64)
    _gather(inputs, targets, positions, rows, contexts, found)
    return contexts, found
