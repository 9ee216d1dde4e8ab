"""MurmurHash3 of rows of bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged

PADDING = 32
"""Number of bytes that must be readable after the hashed ones, since hashing reads up to six times
four at once."""


def murmur3(rows: Ragged, *, seed: int = 0) -> NDArray[np.int32]:
    """Hash each row of bytes with MurmurHash3_x86_32, as ``sklearn.utils.murmurhash3_32`` does."""
    hashes = np.empty(len(rows.offsets) - 1, dtype=np.int32)
    padded = np.concatenate((rows.values, np.zeros(PADDING, dtype=np.uint8)))
    _native.hash_rows(padded, rows.offsets, seed, hashes)
    return hashes
