"""Random typos: characters deleted, swapped and inserted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged

DELETION = 0
SWAP = 1
INSERTION = 2
"""Kinds of edits."""


def distort_characters(
    texts: Ragged, *, rate: float, kinds: NDArray[np.int64], key: np.uint64
) -> Ragged:
    """Make typos in each text: ``floor(rate * n + u)`` edits of its n characters, u in [0, 1)."""
    return Ragged(*_native.distort_characters(*texts, rate, kinds, int(key)))
