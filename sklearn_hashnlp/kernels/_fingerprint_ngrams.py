"""The n-grams of words as 64-bit numbers that tell them apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._murmur3 import murmur3_span
from sklearn_hashnlp.kernels._ngrams import ngram_offsets
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._splitmix64 import GAMMA, mix_word
from sklearn_hashnlp.kernels._units import Units

_HIGH_SEED, _LOW_SEED = 0x9747B28C, 0
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


def fingerprint_ngrams(units: Units, ngram_range: tuple[int, int]) -> Ragged:
    """Hash all n-grams of every segment to 64 bits.

    The fingerprint F of the units u_1 .. u_n follows from F of the first n - 1 of them, so that each n-gram costs one
    step, however long it is:

        F(u_1 .. u_n) = S(F(u_1 .. u_{n-1}) xor W(u_n)),    F of nothing = 0,

    where S(x) is the first value of SplitMix64 for the seed x, and W(u) has the MurmurHash3_x86_32 of the unit's bytes
    with seed 0x9747b28c as its upper half and that with seed 0 as its lower half.

    Parameters
    ----------
    units : Units
        What the n-grams are made of.
    ngram_range : tuple (min_n, max_n)
        The smallest and the largest n, both included; ``1 <= min_n <= max_n``.

    Returns
    -------
    Ragged of uint64
        The fingerprint of each n-gram, row by row.

    Notes
    -----
    S gives different values for different seeds. So a common end makes two n-grams no likelier to collide; where their
    ends differ they collide as random numbers do, with a probability of about ``2**-64``, as long as no W of two
    units are the same. Units of up to four bytes and of one length never share a W. Of five to eight bytes two do with
    a probability of about ``2**-51.8``, and not ``2**-64``: MurmurHash3 mixes its seed in by an exclusive or, so that
    what makes two units collide with one seed often makes them collide with another. (After the first block their
    states differ in the same bits for both seeds with a probability of ``2**-19.8``, counted in 4 * 10**8 pairs.)
    """
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
