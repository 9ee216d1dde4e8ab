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
    inputs: NDArray[Any], targets: NDArray[Any], positions: NDArray[Any], rows: NDArray[np.int64], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Gather the words at some positions of a text and the words before each of them.

    Parameters
    ----------
    inputs : ndarray of int of shape (n_words,)
        The text, as what stands before a word.
    targets : ndarray of int of shape (n_words,)
        The text, as what stands at a position; may be the same array.
    positions : ndarray of int of shape (n_windows,)
        Where windows end; each at least ``width`` and less than ``n_words``. They are not checked.
    rows : ndarray of int64 of shape (n,)
        Which of the windows, in the order wanted. They are not checked.
    width : int
        How many words before the position.

    Returns
    -------
    contexts : ndarray of shape (n, width), dtype int64
        The words before, the oldest first.
    found : ndarray of shape (n,), dtype int64
        The words at the positions.

    Examples
    --------
    >>> import numpy as np
    >>> text = np.array([9, 9, 3, 1, 4], dtype=np.int32)
    >>> contexts, found = gather_windows(text, text, np.array([2, 3, 4]), np.array([2, 0]), 2)
    >>> contexts.tolist(), found.tolist()
    ([[3, 1], [9, 9]], [4, 3])
    """
    contexts = np.empty((len(rows), width), dtype=np.int64)
    found = np.empty(len(rows), dtype=np.int64)
    _gather(inputs, targets, positions, rows, contexts, found)
    return contexts, found
