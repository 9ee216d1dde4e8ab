"""Tables of weights: trained rows only, and lower precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Suffix of the keys of tables, which can be stored in lower precision.
TABLE_VALUES = ".values"
Precision: TypeAlias = Literal["float32", "float16", "int8"]
ModelPrecision: TypeAlias = Literal["float32", "float16", "int8", "int4"]

_LEVELS = 127


def to_float16(values: NDArray[np.float32], where: str) -> NDArray[np.float16]:
    """Round a table to float16."""
    largest = _max_magnitudes(values, where)
    if largest.size and largest.max() > np.finfo(np.float16).max:
        raise ValueError(
            f"A model folder cannot hold {where} in float16, whose largest value is 65504: it has "
            f"{largest.max():g}. Save with precision='int8' or 'float32'."
        )
    return values.astype(np.float16)


def to_int8(
    values: NDArray[np.float32], where: str
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantize table columns to 255 levels, denser near zero; return levels and scales."""
    scale = _max_magnitudes(values, where)
    parts = np.abs(values) / np.where(scale > 0, scale, np.float32(1))
    return np.rint(np.copysign(_LEVELS * np.sqrt(parts), values)).astype(np.int8), scale


def from_int8(levels: NDArray[np.int8], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values of levels."""
    roots = levels / np.float32(_LEVELS)
    # infinite values and NaN raise an error later
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(roots * np.abs(roots) * scale, dtype=np.float32)


def _max_magnitudes(values: NDArray[np.float32], where: str) -> Any:
    """Return the maximum magnitude of each column, 0 without rows; a vector is one column."""
    largest = np.asarray(np.abs(values).max(axis=0, initial=0))
    if not np.isfinite(largest).all():
        raise ValueError(
            f"A model folder cannot hold {where} in lower precision than float32: it has infinite "
            "values or NaN."
        )
    return largest


_BLOCK = 2**18


def pack_table(name: str, table: NDArray[Any], fill: float) -> dict[str, NDArray[Any]]:
    """Return a table's rows that differ from the initial value, or the whole table if smaller."""
    # Bits are compared to preserve -0.0 and NaN; in blocks, to avoid a copy of the table.
    unsigned = np.dtype(f"u{table.dtype.itemsize}")
    bits, untouched = table.view(unsigned), np.asarray(fill, dtype=table.dtype).view(unsigned)
    changed = [np.empty(0, dtype=np.uint32)]
    for start in range(0, len(table), _BLOCK):
        block = bits[start : start + _BLOCK]
        differs = (block != untouched).reshape(len(block), -1).any(axis=1)
        changed.append((start + np.flatnonzero(differs)).astype(np.uint32))
    rows = np.concatenate(changed)
    bitmap_bytes = -(-len(table) // 8)
    if len(rows) * table[:1].nbytes + min(rows.nbytes, bitmap_bytes) >= table.nbytes:
        return {f"{name}{TABLE_VALUES}": table.copy()}
    if rows.nbytes <= bitmap_bytes:
        which: dict[str, NDArray[Any]] = {f"{name}.rows": rows}
    else:
        touched = np.zeros(len(table), dtype=bool)
        touched[rows] = True
        which = {f"{name}.bitmap": np.packbits(touched)}
    return which | {f"{name}{TABLE_VALUES}": table[rows]}


def stored_rows(name: str, arrays: Mapping[str, NDArray[Any]], n_rows: int) -> NDArray[Any] | None:
    """Return the numbers of the rows that are stored of a table of ``n_rows``; None if all are."""
    if f"{name}.bitmap" not in arrays:
        return arrays.get(f"{name}.rows")
    bitmap = arrays[f"{name}.bitmap"]
    if bitmap.dtype != np.uint8 or bitmap.shape != (-(-n_rows // 8),):
        raise ValueError(f"The bitmap of {name!r} must hold a bit for each of {n_rows} rows.")
    return np.flatnonzero(np.unpackbits(bitmap, count=n_rows).view(np.bool_)).astype(np.uint32)


def unpack_table(name: str, arrays: Mapping[str, NDArray[Any]], table: NDArray[Any]) -> None:
    """Write the stored rows into a new table."""
    stored = arrays[name] if name in arrays else arrays[f"{name}{TABLE_VALUES}"]
    rows = stored_rows(name, arrays, len(table))
    check_shape(name, stored, (len(table) if rows is None else len(rows), *table.shape[1:]))
    if stored.dtype != table.dtype:
        raise ValueError(
            f"The table {name!r} must be of {table.dtype}, the stored one is of {stored.dtype}."
        )
    table[slice(None) if rows is None else rows] = stored


def check_shape(name: str, stored: NDArray[Any], expected: tuple[int, ...]) -> None:
    """Compare the shape of a stored array with the expected one."""
    if stored.shape != expected:
        raise ValueError(
            f"The array {name!r} must have shape {expected}, the stored one has {stored.shape}."
        )


def check_stored(name: str, arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...]) -> None:
    """Compare a stored array or packed table with the shape in a model."""
    if name in arrays:
        check_shape(name, arrays[name], shape)
    values = arrays.get(f"{name}{TABLE_VALUES}")
    if values is not None:
        by_rows = f"{name}.rows" in arrays or f"{name}.bitmap" in arrays
        check_shape(name, values, (len(values), *shape[1:]) if by_rows else shape)
    if f"{name}.bitmap" in arrays:
        check_shape(f"{name}.bitmap", arrays[f"{name}.bitmap"], (-(-shape[0] // 8),))
