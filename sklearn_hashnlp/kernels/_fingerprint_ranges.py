"""Fingerprints put into ranges by their leading bits, and counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled

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
