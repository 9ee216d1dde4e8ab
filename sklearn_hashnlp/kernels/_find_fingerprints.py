"""Fingerprints looked up among known ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._ragged import Ragged


def fingerprint_slots(
    known: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int32]:
    """Make the table that fingerprints are looked up in: open addressing, never more than half full."""
    slots = np.full(2 << max(len(known) - 1, 0).bit_length(), -1, dtype=np.int32)
    _insert(known, slots)
    return slots


def find_fingerprints(
    rows: Ragged,
    known: NDArray[np.uint64],  # (n,)
    slots: NDArray[np.int32],
) -> Ragged:
    """Return the places of those fingerprints that are known; the others are dropped."""
    places = np.empty(len(rows.values) + 1, dtype=np.int32)
    offsets = np.zeros(len(rows.offsets), dtype=np.int64)
    _find(rows.values, rows.offsets, known, slots, places, offsets)
    return Ragged(places[: offsets[-1]], offsets)


@compiled
def _insert(known: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
    mask = np.uint64(len(slots) - 1)
    for place in range(len(known)):
        slot = known[place] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = place


@compiled
def _find(
    fingerprints: NDArray[np.uint64],
    row_ends: NDArray[np.int64],
    known: NDArray[np.uint64],
    slots: NDArray[np.int32],
    places: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> None:
    mask = np.uint64(len(slots) - 1)
    n_found = 0
    for row in range(len(row_ends) - 1):
        for i in range(row_ends[row], row_ends[row + 1]):
            slot = fingerprints[i] & mask
            place = slots[slot]
            while place >= 0 and known[place] != fingerprints[i]:
                slot = (slot + np.uint64(1)) & mask
                place = slots[slot]
            places[n_found] = place  # written over unless it was found
            n_found += place >= 0
        offsets[row + 1] = n_found
