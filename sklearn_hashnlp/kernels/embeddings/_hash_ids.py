"""Ids hashed to rows of tables, and counts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, inner, of_arrays
from sklearn_hashnlp.kernels._hashes import fmix32
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages, prefetch_row

IMPROVED, PAPER, STANDARD = 0, 1, 2  # the order of nn's VARIANTS

_SHIFT = np.uint64(32)
_BLOCK = 4096  # ids that are hashed together: their words stay in the first cache
_AHEAD = 32  # ids between the prefetch of a counter and its use


@inlined
def mix_id(key: Number) -> Number:
    """Mix the low 32 bits of an id by MurmurHash3's ``fmix32``: all bits of a column or a feature."""
    return np.uint64(fmix32(np.uint32(key)))


@inlined
def slot_of(mixed: Number, a: Number, b: Number, size: Number) -> Number:
    """Return the slot of a mixed id in a table of ``size`` rows."""
    return np.int32((np.uint64((mixed * a + b) >> _SHIFT) * size) >> _SHIFT)


@inlined
def row_of(key: Number, mixed: Number, a: Number, b: Number, n_rows: Number) -> Number:
    """Return the row of an id in the importance table: its slot, or the id itself where both constants are zero."""
    if a == 0 and b == 0:
        return np.int32(key)
    return slot_of(mixed, a, b, n_rows)


_mix_of_arrays, _slot_of_arrays = of_arrays(fmix32), of_arrays(slot_of)


def locate_columns(
    columns: NDArray[Any],  # (n_values,): below 2**32
    constants: NDArray[np.uint64],  # (k + 1, 3): of the hash functions of the importance table and of the pool
    n_rows: int,
    n_slots: int,
    variant: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # (n_values,), (n_values, k)
    """Hash columns to rows of the importance table and of the pool, as :func:`locate_ids`; nothing is compiled."""
    rows, (a, b, _) = np.empty(len(columns), dtype=np.int32), constants[0]
    slots = np.empty((len(columns), len(constants) - 1), dtype=np.int32)
    is_hashed = bool(a or b)
    for start in range(0, len(columns), _BLOCK):  # their words stay in the first caches
        block = slice(start, start + _BLOCK)
        mixed = _mix_of_arrays(columns[block].astype(np.uint32))
        rows[block] = _slot_of_arrays(mixed.astype(np.uint64), a, b, np.uint64(n_rows)) if is_hashed else columns[block]
        if variant == PAPER:
            mixed = _mix_of_arrays(rows[block].astype(np.uint32))
        for i in range(0 if variant == STANDARD else slots.shape[1]):
            c, d, _ = constants[i + 1]
            slots[block, i] = _slot_of_arrays(mixed.astype(np.uint64), c, d, np.uint64(n_slots))
    return rows, rows[:, np.newaxis] if variant == STANDARD else slots


@compiled
def locate_ids(
    ids: NDArray[np.int64],  # (n_values,)
    constants: NDArray[np.uint64],  # (k + 1, 3): of the hash functions of the importance table and of the pool
    n_rows: int,
    n_slots: int,
    variant: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # (n_values,), (n_values, k)
    """Hash ids of 64 bits to rows of the importance table and of the pool."""
    rows = in_huge_pages(np.empty((len(ids), 1), np.int32))
    slots = rows if variant == STANDARD else in_huge_pages(np.empty((len(ids), len(constants) - 1), np.int32))
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        _locate_block(ids[block], constants, np.uint64(n_rows), np.uint64(n_slots), variant, rows[block], slots[block])
    return rows.reshape(len(ids)), slots


@inner
def _locate_block(
    ids: NDArray[np.int64],
    constants: NDArray[np.uint64],
    n_rows: Number,
    n_slots: Number,
    variant: Number,
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> None:
    # A loop per function and not per id: these are vectorized.
    mixed, high = _mix_ids(ids)
    if constants[0, 0] == 0 and constants[0, 1] == 0:  # ids that are not hashed, see row_of
        for j in range(len(ids)):
            rows[j, 0] = ids[j]
    else:
        _hash(mixed, high, constants[0], n_rows, rows, 0)
    if variant == STANDARD:
        return
    if variant == PAPER:
        for j in range(len(ids)):
            mixed[j] = mix_id(rows[j, 0])
        high = high[:0]
    for i in range(slots.shape[1]):
        _hash(mixed, high, constants[i + 1], n_slots, slots, i)


@inner
def _mix_ids(ids: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Mix the low and the high 32 bits of ids to two words; only the low word if the high bits of all ids are 0."""
    mixed = np.empty(len(ids), dtype=np.uint32)
    bits: Number = np.int64(0)
    for j in range(len(ids)):
        bits |= ids[j]
        mixed[j] = mix_id(ids[j])
    high = np.empty(len(ids) if bits >> 32 else 0, dtype=np.uint32)
    for j in range(len(high)):
        high[j] = mix_id(ids[j] >> 32)
        mixed[j] = mix_id(np.uint64(ids[j]) ^ np.uint64(high[j]))
    return mixed, high


@inner
def _hash(
    mixed: NDArray[np.uint32],
    high: NDArray[np.uint32],
    constants: NDArray[np.uint64],
    size: Number,
    slots: NDArray[np.int32],
    column: Number,
) -> None:
    """Write the slots of mixed ids in a table to a column."""
    a, b, c = constants[0], constants[1], constants[2]
    if len(high) == 0:
        for j in range(len(mixed)):
            slots[j, column] = slot_of(np.uint64(mixed[j]), a, b, size)
    for j in range(len(high)):
        slots[j, column] = slot_of(np.uint64(mixed[j]), a, b + c * np.uint64(high[j]), size)


def count_rows(
    ids: NDArray[Any],  # (n,): below 2**32, as columns are
    constants: tuple[int, ...],  # of the hash function
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows of a table that ids are hashed to, ascending, and the number of ids of each."""
    counts = np.zeros(n_rows, dtype=np.int32)  # the system maps the memory of rows that are written, no more
    distinct = np.empty(len(ids), dtype=np.int32)
    a, b = (np.uint64(constant) for constant in constants[:2])
    rows = np.sort(distinct[: _count(ids, a, b, np.uint64(n_rows), counts, distinct)])
    return rows, counts[rows]


@compiled
def _count(
    ids: NDArray[Any], a: Number, b: Number, n_rows: Number, counts: NDArray[np.int32], distinct: NDArray[np.int32]
) -> int:
    rows = np.empty(len(ids), dtype=np.int32)
    for i in range(len(ids)):
        rows[i] = row_of(ids[i], mix_id(ids[i]), a, b, n_rows)
    n_distinct, lines = 0, counts.reshape(-1, 1)
    for i in range(len(ids)):
        prefetch_row(lines, rows[min(i + _AHEAD, len(ids) - 1)])
        row = rows[i]
        distinct[n_distinct] = row  # without a branch, as no processor can predict it; overwritten if seen before
        n_distinct += counts[row] == 0
        counts[row] += 1
    return n_distinct
