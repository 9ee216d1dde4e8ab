"""64-bit fingerprints of n-grams: computed, counted by range, and looked up in a dictionary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import Units

N_RANGES = 2**12
"""The number of ranges; range r has the fingerprints from ``r * 2**52`` to below
``(r + 1) * 2**52``."""


def fingerprint_ngrams(units: Units, ngram_range: tuple[int, int]) -> Ragged:
    """Hash all n-grams of every segment to 64 bits."""
    # The fingerprint F of the units u_1 .. u_n follows from that of the first n - 1, one step for
    # each n-gram:
    #     F(u_1 .. u_n) = S(F(u_1 .. u_{n-1}) xor W(u_n)),    F() = 0,
    # where S(x) is the first value of SplitMix64 for the seed x, and W(u) has the
    # MurmurHash3_x86_32 of the unit's bytes with seed 0x9747b28c as its upper half and that with
    # seed 0 as its lower half.
    #
    # S is a bijection, so n-grams with a common end collide no more often, and others with a
    # probability of about 2**-64 as long as no two units share a W. Units of up to four bytes and
    # of one length never do. Of five to eight bytes two do with a probability of about 2**-51.8:
    # MurmurHash3 mixes its seed in by an exclusive or, so that units which collide with one seed
    # often collide with another. (After the first block their states differ in the same bits for
    # both seeds with a probability of 2**-19.8, counted in 4 * 10**8 pairs.)
    #
    # Larger lengths of n-grams than the number of units would overflow 64 bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return Ragged(*_native.fingerprint_ngrams(*units, min_n, max_n))


def range_sizes(
    fingerprints: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int64]:  # (N_RANGES,)
    """Count the fingerprints of each range."""
    sizes = np.zeros(N_RANGES, dtype=np.int64)
    _native.range_sizes(fingerprints, sizes)
    return sizes


def scatter_ranges(
    fingerprints: NDArray[np.uint64],  # (n,)
    first: int,
    last: int,
    # (N_RANGES,): index in ``out`` of the next fingerprint of each range; advanced
    cursors: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:
    """Write the fingerprints of the ranges from ``first`` to before ``last``, range by range."""
    _native.scatter_ranges(fingerprints, first, last, cursors, out)


def count_runs(
    ascending: NDArray[np.uint64],  # (n,): sorted
    threshold: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the values that occur more than ``threshold`` times, ascending, and their counts."""
    return _native.count_runs(ascending, threshold)


def fingerprint_slots(
    dictionary: NDArray[np.uint64],  # (n,)
) -> NDArray[np.int32]:
    """Build the open-addressing hash table of a dictionary: the index in each slot, or -1."""
    return _native.fingerprint_slots(dictionary)


def find_fingerprints(
    rows: Ragged,
    dictionary: NDArray[np.uint64],  # (n,)
    slots: NDArray[np.int32],
) -> Ragged:
    """Return the dictionary indices of fingerprints, dropping fingerprints that are not in it."""
    return Ragged(*_native.find_fingerprints(*rows, dictionary, slots))
