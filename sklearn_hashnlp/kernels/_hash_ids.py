"""Ids hashed to rows of tables, and how many rows each table row is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._intrinsics import prefetch_row

IMPROVED, PAPER, STANDARD = 0, 1, 2  # the order of nn's VARIANTS

_SHIFT = np.uint64(32)
_MIX_1 = np.uint32(0x85EBCA6B)
_MIX_2 = np.uint32(0xC2B2AE35)


@inlined
def mix_id(key: Number) -> Number:
    """Scramble the low 32 bits of an id: MurmurHash3's ``fmix32``."""
    mixed = np.uint32(key)
    mixed = np.uint32((mixed ^ np.uint32(mixed >> np.uint32(16))) * _MIX_1)
    mixed = np.uint32((mixed ^ np.uint32(mixed >> np.uint32(13))) * _MIX_2)
    return np.uint64(np.uint32(mixed ^ np.uint32(mixed >> np.uint32(16))))


@inlined
def slot_of(mixed: Number, a: Number, b: Number, size: Number) -> Number:
    """Return the slot of a scrambled id in a table of ``size`` rows."""
    return np.int32((np.uint64((mixed * a + b) >> _SHIFT) * size) >> _SHIFT)


@inlined
def row_of(key: Number, mixed: Number, a: Number, b: Number, n_rows: Number) -> Number:
    """Return the row of an id in the first table: its slot, or the id itself where both constants are zero."""
    if a == 0 and b == 0:
        return np.int32(key)
    return slot_of(mixed, a, b, n_rows)


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


def locate_ids(
    ids: NDArray[np.int64],  # (n_values,)
    constants: NDArray[np.uint64],  # (k + 1, 2)
    n_rows: int,
    n_slots: int,
    variant: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the rows of both tables that ids use."""
    n_hashes = 1 if variant == STANDARD else len(constants) - 1
    rows = np.empty(len(ids), dtype=np.int32)
    slots = np.empty((len(ids), n_hashes), dtype=np.int32)
    _locate(ids, constants, np.uint64(n_rows), np.uint64(n_slots), variant, rows, slots)
    return rows, slots


_AHEAD = 32  # ids between asking for a counter and raising it: long enough for memory to answer


@compiled
def _count(
    ids: NDArray[Any], a: Number, b: Number, n_rows: Number, counts: NDArray[np.int32], found: NDArray[np.int32]
) -> int:
    rows = np.empty(len(ids), dtype=np.int32)
    for place in range(len(ids)):
        rows[place] = row_of(ids[place], mix_id(ids[place]), a, b, n_rows)
    n_found, lines = 0, counts.reshape(-1, 1)
    for place in range(len(ids)):
        prefetch_row(lines, rows[min(place + _AHEAD, len(ids) - 1)])
        row = rows[place]
        found[n_found] = row  # without a branch, as nobody can predict it; overwritten if it was not the first
        n_found += counts[row] == 0
        counts[row] += 1
    return n_found


def count_rows(
    ids: NDArray[Any],  # (n,)
    constants: tuple[int, int],
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Hash ids to the rows of a table and count them there."""
    counts = np.zeros(n_rows, dtype=np.int32)  # memory that the system gives when it is written
    found = np.empty(len(ids), dtype=np.int32)
    a, b = (np.uint64(constant) for constant in constants)
    rows = np.sort(found[: _count(ids, a, b, np.uint64(n_rows), counts, found)])
    return rows, counts[rows]
