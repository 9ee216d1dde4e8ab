"""64-bit fingerprints of n-grams: computed, counted by range, and looked up in a dictionary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import GAMMA, mix_word, murmur3_span
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._hash_ngrams import ngram_offsets
from sklearn_hashnlp.kernels.strings._units import Units

_HIGH_SEED, _LOW_SEED = 0x9747B28C, 0
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


def fingerprint_ngrams(units: Units, ngram_range: tuple[int, int]) -> Ragged:
    """Hash all n-grams of every segment to 64 bits."""
    # The fingerprint F of the units u_1 .. u_n follows from that of the first n - 1, one step for each n-gram:
    #     F(u_1 .. u_n) = S(F(u_1 .. u_{n-1}) xor W(u_n)),    F() = 0,
    # where S(x) is the first value of SplitMix64 for the seed x, and W(u) has the MurmurHash3_x86_32 of the unit's
    # bytes with seed 0x9747b28c as its upper half and that with seed 0 as its lower half.
    #
    # S is a bijection, so n-grams with a common end collide no more often, and others with a probability of about
    # 2**-64 as long as no two units share a W. Units of up to four bytes and of one length never do. Of five to eight
    # bytes two do with a probability of about 2**-51.8: MurmurHash3 mixes its seed in by an exclusive or, so that units
    # which collide with one seed often collide with another. (After the first block their states differ in the same
    # bits for both seeds with a probability of 2**-19.8, counted in 4 * 10**8 pairs.)
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)  # larger numbers would overflow 64 bits
    return _fingerprint(units, min_n, max_n)


@compiled
def _fingerprint(units: Units, min_n: Number, max_n: Number) -> Ragged:
    text, boundaries, segments, rows, separator_width = units
    offsets = ngram_offsets(segments, rows, min_n, max_n, False)
    fingerprints = np.empty(offsets[len(rows) - 1], dtype=np.uint64)
    words = np.empty(len(boundaries), dtype=np.uint64)
    at = 0
    for segment in range(len(segments) - 1):
        first, last = segments[segment], segments[segment + 1] - 1
        for unit in range(first, last):
            begin, end = boundaries[unit], boundaries[unit + 1] - separator_width
            high = np.uint64(murmur3_span(text, begin, end, _HIGH_SEED)) << _HALF
            words[unit] = high | (np.uint64(murmur3_span(text, begin, end, _LOW_SEED)) & _LOW)
        for start in range(first, last - min_n + 1):
            state = np.uint64(0)
            for unit in range(start, start + min_n - 1):
                state = mix_word((state ^ words[unit]) + GAMMA)
            for unit in range(start + min_n - 1, min(start + max_n, last)):
                state = mix_word((state ^ words[unit]) + GAMMA)
                fingerprints[at] = state
                at += 1
    return Ragged(fingerprints, offsets)


_RANGE_BITS = 12
_RANGE_SHIFT = np.uint64(64 - _RANGE_BITS)

N_RANGES = 2**_RANGE_BITS
"""The number of ranges; range r has the fingerprints from ``r * 2**52`` to below ``(r + 1) * 2**52``."""


@compiled
def range_sizes(
    fingerprints: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int64]:  # (N_RANGES,)
    """Count the fingerprints of each range."""
    sizes = np.zeros(N_RANGES, dtype=np.int64)
    for i in range(len(fingerprints)):
        sizes[fingerprints[i] >> _RANGE_SHIFT] += 1
    return sizes


@compiled
def scatter_ranges(
    fingerprints: NDArray[np.uint64],  # (n,)
    first: Number,
    last: Number,
    cursors: NDArray[np.int64],  # (N_RANGES,): index in ``out`` of the next fingerprint of each range; advanced
    out: NDArray[np.uint64],
) -> None:
    """Write the fingerprints of the ranges from ``first`` to before ``last``, range by range."""
    low, n_ranges = np.uint64(first), np.uint64(last - first)
    for i in range(len(fingerprints)):
        range_ = fingerprints[i] >> _RANGE_SHIFT
        if range_ - low < n_ranges:  # a range below the first wraps around to a large number
            out[cursors[range_]] = fingerprints[i]
            cursors[range_] += 1


@compiled
def count_runs(
    ascending: NDArray[np.uint64],  # (n,): sorted
    threshold: Number,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct values that occur more than ``threshold`` times, ascending, and their counts."""
    n_values = 0
    begin = 0
    for i in range(1, len(ascending) + 1):
        if i == len(ascending) or ascending[i] != ascending[begin]:
            n_values += i - begin > threshold
            begin = i
    values = np.empty(n_values, dtype=np.uint64)
    counts = np.empty(n_values, dtype=np.int64)
    n_values = begin = 0
    for i in range(1, len(ascending) + 1):
        if i == len(ascending) or ascending[i] != ascending[begin]:
            if i - begin > threshold:
                values[n_values] = ascending[begin]
                counts[n_values] = i - begin
                n_values += 1
            begin = i
    return values, counts


@compiled
def fingerprint_slots(
    dictionary: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int32]:
    """Build the open-addressing hash table of a dictionary, at most half full: the index in each slot, or -1."""
    n_slots = 2
    while n_slots < 2 * len(dictionary):
        n_slots *= 2
    slots = in_huge_pages(np.empty(n_slots, np.int32))
    slots[:] = -1
    mask = np.uint64(len(slots) - 1)
    for index in range(len(dictionary)):
        slot = dictionary[index] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = index
    return slots


@compiled
def find_fingerprints(
    rows: Ragged,
    dictionary: NDArray[np.uint64],  # (n,)
    slots: NDArray[np.int32],
) -> Ragged:
    """Return the dictionary indices of fingerprints; fingerprints that are not in it are dropped."""
    fingerprints, row_ends = rows
    indices = in_huge_pages(np.empty(len(fingerprints) + 1, np.int32))
    offsets = np.zeros(len(row_ends), dtype=np.int64)
    mask = np.uint64(len(slots) - 1)
    n_values = 0
    for row in range(len(row_ends) - 1):
        for i in range(row_ends[row], row_ends[row + 1]):
            slot = fingerprints[i] & mask
            index = slots[slot]
            while index >= 0 and dictionary[index] != fingerprints[i]:
                slot = (slot + np.uint64(1)) & mask
                index = slots[slot]
            indices[n_values] = index  # overwritten if it is not in the dictionary
            n_values += index >= 0
        offsets[row + 1] = n_values
    return Ragged(indices[:n_values], offsets)
