"""Fingerprints looked up among known ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._ragged import Ragged


def fingerprint_slots(known: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Make the table that fingerprints are looked up in: open addressing, never more than half full.

    Parameters
    ----------
    known : ndarray of shape (n,), dtype uint64
        Different fingerprints; n is less than 2**31.

    Returns
    -------
    ndarray of int32
        The place in ``known`` of the fingerprint in each slot, -1 where there is none. Its length is a power of two.
    """
    slots = np.full(2 << max(len(known) - 1, 0).bit_length(), -1, dtype=np.int32)
    _insert(known, slots)
    return slots


def find_fingerprints(rows: Ragged, known: NDArray[np.uint64], slots: NDArray[np.int32]) -> Ragged:
    """Give the places of those fingerprints that are known; the others are dropped.

    Parameters
    ----------
    rows : Ragged of uint64
        The fingerprints to look up.
    known : ndarray of shape (n,), dtype uint64
        Those that are known.
    slots : ndarray of int32
        What :func:`fingerprint_slots` made of them.

    Returns
    -------
    Ragged of int32
        Places in ``known``, row by row, in the order of ``rows``.

    Examples
    --------
    >>> import numpy as np
    >>> known = np.array([70, 30], dtype=np.uint64)
    >>> rows = Ragged(np.array([30, 4, 70, 30, 8], dtype=np.uint64), np.array([0, 3, 5]))
    >>> places = find_fingerprints(rows, known, fingerprint_slots(known))
    >>> places.values.tolist(), places.offsets.tolist()
    ([1, 0, 1], [0, 2, 3])
    """
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
