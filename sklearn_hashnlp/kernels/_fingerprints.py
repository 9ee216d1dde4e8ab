"""Fingerprints of n-grams: computed, counted by range, and found among the kept ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import GAMMA, mix_word, murmur3_span
from sklearn_hashnlp.kernels._ngrams import ngram_offsets
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._units import Units

_HIGH_SEED, _LOW_SEED = 0x9747B28C, 0
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


def fingerprint_ngrams(units: Units, ngram_range: tuple[int, int]) -> Ragged:
    """Hash all n-grams of every segment to 64 bits."""
    min_n, max_n = (min(n, len(units.posts)) for n in ngram_range)  # larger numbers would leave 64 bits
    return Ragged(*_fingerprint(units.text, units.posts, units.segments, units.rows, units.gap, min_n, max_n))


@compiled
def _fingerprint(
    text: NDArray[np.uint8],
    posts: NDArray[np.int64],
    segments: NDArray[np.int64],
    rows: NDArray[np.int64],
    gap: Number,
    min_n: Number,
    max_n: Number,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    offsets = ngram_offsets(segments, rows, min_n, max_n, False)
    fingerprints = np.empty(offsets[len(rows) - 1], dtype=np.uint64)
    units = np.empty(len(posts), dtype=np.uint64)
    at = 0
    for segment in range(len(segments) - 1):
        first, last = segments[segment], segments[segment + 1] - 1
        for post in range(first, last):
            begin, end = posts[post], posts[post + 1] - gap
            high = np.uint64(murmur3_span(text, begin, end, _HIGH_SEED)) << _HALF
            units[post] = high | (np.uint64(murmur3_span(text, begin, end, _LOW_SEED)) & _LOW)
        for start in range(first, last - min_n + 1):
            state = np.uint64(0)
            for post in range(start, start + min_n - 1):
                state = mix_word((state ^ units[post]) + GAMMA)
            for post in range(start + min_n - 1, min(start + max_n, last)):
                state = mix_word((state ^ units[post]) + GAMMA)
                fingerprints[at] = state
                at += 1
    return fingerprints, offsets


_BITS = 12
_SHIFT = np.uint64(64 - _BITS)

N_RANGES = 2**_BITS
"""The number of ranges: range r holds the fingerprints from ``r * 2**52`` up to the next range's first."""


@compiled
def range_sizes(
    fingerprints: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int64]:  # (N_RANGES,)
    """Count the fingerprints of each range."""
    sizes = np.zeros(N_RANGES, dtype=np.int64)
    for i in range(len(fingerprints)):
        sizes[fingerprints[i] >> _SHIFT] += 1
    return sizes


@compiled
def scatter_ranges(
    fingerprints: NDArray[np.uint64],  # (n,)
    first: Number,
    last: Number,
    places: NDArray[np.int64],  # (N_RANGES,)
    room: NDArray[np.uint64],
) -> None:
    """Write the fingerprints of some ranges, each to where its range wants it."""
    low, n_ranges = np.uint64(first), np.uint64(last - first)
    for i in range(len(fingerprints)):
        number = fingerprints[i] >> _SHIFT
        if number - low < n_ranges:  # a range below the first wraps round to a large number
            room[places[number]] = fingerprints[i]
            places[number] += 1


@compiled
def count_runs(
    ascending: NDArray[np.uint64],  # (n,)
    above: Number,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Count equal neighbours."""
    n_found = 0
    begin = 0
    for i in range(1, len(ascending) + 1):
        if i == len(ascending) or ascending[i] != ascending[begin]:
            n_found += i - begin > above
            begin = i
    values = np.empty(n_found, dtype=np.uint64)
    counts = np.empty(n_found, dtype=np.int64)
    n_found = begin = 0
    for i in range(1, len(ascending) + 1):
        if i == len(ascending) or ascending[i] != ascending[begin]:
            if i - begin > above:
                values[n_found] = ascending[begin]
                counts[n_found] = i - begin
                n_found += 1
            begin = i
    return values, counts


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
