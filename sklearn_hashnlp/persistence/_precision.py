"""Tables of float32, stored in less precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# An estimator whose array has a key that ends so says: this is a table, and need not be stored to the last bit.
TABLE_VALUES = ".values"
PRECISIONS = ("float32", "float16", "int8")

_LEVELS = 127


def to_float16(values: NDArray[np.float32], where: str) -> NDArray[np.float16]:
    """Round a table to float16, which has 11 bits."""
    largest = _largest(values, where)
    if largest.size and largest.max() > np.finfo(np.float16).max:
        raise ValueError(
            f"A model folder cannot hold {where} in float16, which ends at 65504: it has {largest.max():g}. "
            "Save with precision='int8' or 'float32'."
        )
    return values.astype(np.float16)


def to_int8(values: NDArray[np.float32], where: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a table to 255 levels a column, which lie closer together the closer they are to zero."""
    scale = _largest(values, where)
    parts = np.abs(values) / np.where(scale > 0, scale, np.float32(1))
    return np.rint(np.copysign(_LEVELS * np.sqrt(parts), values)).astype(np.int8), scale


def from_int8(levels: NDArray[np.int8], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the numbers that levels stand for."""
    roots = levels / np.float32(_LEVELS)
    return np.asarray(roots * np.abs(roots) * scale, dtype=np.float32)


def _largest(values: NDArray[np.float32], where: str) -> Any:
    """Return the largest magnitude of each column, zero where there are no rows."""
    largest = np.abs(values).max(axis=0, initial=0)
    if not np.isfinite(largest).all():
        raise ValueError(
            f"A model folder cannot hold {where} in less precision than float32: it has infinite numbers or NaN."
        )
    return largest
