"""Lower precision for float32 tables: float16 and int8."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Suffix of the keys of tables, which can be stored in lower precision.
TABLE_VALUES = ".values"
Precision: TypeAlias = Literal["float32", "float16", "int8"]

_LEVELS = 127


def to_float16(values: NDArray[np.float32], where: str) -> NDArray[np.float16]:
    """Round a table to float16."""
    largest = _max_magnitudes(values, where)
    if largest.size and largest.max() > np.finfo(np.float16).max:
        raise ValueError(
            f"A model folder cannot hold {where} in float16, whose largest value is 65504: it has {largest.max():g}. "
            "Save with precision='int8' or 'float32'."
        )
    return values.astype(np.float16)


def to_int8(values: NDArray[np.float32], where: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantize each column of a table to 255 levels, which are denser near zero; return levels and scales."""
    scale = _max_magnitudes(values, where)
    parts = np.abs(values) / np.where(scale > 0, scale, np.float32(1))
    return np.rint(np.copysign(_LEVELS * np.sqrt(parts), values)).astype(np.int8), scale


def from_int8(levels: NDArray[np.int8], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values of levels."""
    roots = levels / np.float32(_LEVELS)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values and NaN raise an error later
        return np.asarray(roots * np.abs(roots) * scale, dtype=np.float32)


def _max_magnitudes(values: NDArray[np.float32], where: str) -> Any:
    """Return the maximum magnitude of each column, 0 without rows; a vector is one column."""
    largest = np.asarray(np.abs(values).max(axis=0, initial=0))
    if not np.isfinite(largest).all():
        raise ValueError(
            f"A model folder cannot hold {where} in lower precision than float32: it has infinite values or NaN."
        )
    return largest
