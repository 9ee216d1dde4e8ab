"""Ids hashed to rows of tables, and counted there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._hashes import fmix32
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

IMPROVED, PAPER, STANDARD = 0, 1, 2  # the order of nn's VARIANTS

_SHIFT = np.uint64(32)
_AHEAD = 32  # ids between the prefetch of a counter and its use


@inlined
def mix_id(key: Number) -> Number:
    """Mix the low 32 bits of an id by MurmurHash3's ``fmix32``."""
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


def locate_ids(
    ids: NDArray[np.int64],  # (n_values,)
    constants: NDArray[np.uint64],  # (k + 1, 2): of the hash functions of the importance table and of the pool
    n_rows: int,
    n_slots: int,
    variant: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # (n_values,), (n_values, k)
    """Hash ids, of which the low 32 bits count, to rows of the importance table and of the pool."""
    n_hashes = 1 if variant == STANDARD else len(constants) - 1
    rows = np.empty(len(ids), dtype=np.int32)
    slots = np.empty((len(ids), n_hashes), dtype=np.int32)
    _locate(ids, constants, np.uint64(n_rows), np.uint64(n_slots), variant, rows, slots)
    return rows, slots


@compiled
def _locate(
    ids: NDArray[np.int64],
    constants: NDArray[np.uint64],
    n_rows: Number,
    n_slots: Number,
    variant: Number,
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> None:
    for j in range(len(ids)):
        mixed = mix_id(ids[j])
        row = row_of(ids[j], mixed, constants[0, 0], constants[0, 1], n_rows)
        rows[j] = row
        if variant == STANDARD:
            slots[j, 0] = row
            continue
        if variant == PAPER:
            mixed = mix_id(row)
        for i in range(slots.shape[1]):
            slots[j, i] = slot_of(mixed, constants[i + 1, 0], constants[i + 1, 1], n_slots)


def count_rows(
    ids: NDArray[Any],  # (n,)
    constants: tuple[int, int],
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows of a table that ids are hashed to, ascending, and the number of ids of each."""
    counts = np.zeros(n_rows, dtype=np.int32)  # the system maps the memory of rows that are written, no more
    distinct = np.empty(len(ids), dtype=np.int32)
    a, b = (np.uint64(constant) for constant in constants)
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
