"""Zero tables whose memory is committed only where they are written."""

from __future__ import annotations

import math
import mmap

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._posix import zero_pages


def lazy_table(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return zeros of float32; the system commits their memory only where it is written."""
    n_values = math.prod(shape)
    if not n_values:
        return np.zeros(shape, dtype=np.float32)
    return np.frombuffer(lazy_bytes(4 * n_values), dtype=np.float32, count=n_values).reshape(shape)


def lazy_bytes(n_bytes: int) -> mmap.mmap | NDArray[np.uint8]:
    """Return a writable buffer of zeros."""
    # numpy.zeros commits nothing either, but asks for huge pages whatever the size.
    try:
        pages = zero_pages(n_bytes)
        return np.zeros(n_bytes, dtype=np.uint8) if pages is None else pages
    except (MemoryError, OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"A table of {n_bytes} bytes does not fit into memory.") from error
