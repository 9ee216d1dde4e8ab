"""n-grams and skip-grams, hashed by MurmurHash3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._compile import Number, inner
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import Units


def hash_ngrams(units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False) -> Ragged:
    """Hash all n-grams of every segment; ``short_segments_whole`` makes one n-gram of a segment below ``min_n``."""
    # No segment has as many units as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return Ragged(*_native.hash_ngrams(*units, min_n, max_n, short_segments_whole))


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all skip-grams of every segment: n words in order, at most ``max_skip`` left out between first and last."""
    # No segment has as many words as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n, max_skip = (min(n, len(units.boundaries)) for n in (*ngram_range, max_skip))
    return Ragged(*_native.hash_skipgrams(*units[:4], min_n, max_n, max_skip))


@inner
def ngram_offsets(
    segments: NDArray[np.int64], rows: NDArray[np.int64], min_n: Number, max_n: Number, short_segments_whole: bool
) -> NDArray[np.int64]:
    """Return the start of the n-grams of each row, and the end; see :class:`Units` for the layout."""
    offsets = np.empty(len(rows), dtype=np.int64)
    size = 0
    for row in range(len(rows) - 1):
        offsets[row] = size
        for segment in range(rows[row], rows[row + 1]):
            n_units = segments[segment + 1] - segments[segment] - 1
            longest = min(max_n, n_units)
            if longest >= min_n:  # a sum over n of n_units - n + 1
                size += (longest - min_n + 1) * (2 * n_units - min_n - longest + 2) // 2
            elif short_segments_whole and n_units > 0:
                size += 1
    offsets[len(rows) - 1] = size
    return offsets
