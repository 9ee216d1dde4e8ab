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
