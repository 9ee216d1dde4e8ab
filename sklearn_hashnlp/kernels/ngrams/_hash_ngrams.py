"""n-grams and skip-grams, hashed by MurmurHash3."""

from __future__ import annotations

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import Units


def hash_ngrams(
    units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False
) -> Ragged:
    """Hash all n-grams of segments; ``short_segments_whole`` makes one of any below ``min_n``."""
    # No segment has as many units as there are boundaries, and larger numbers would overflow 64
    # bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return Ragged(*_native.hash_ngrams(*units, min_n, max_n, short_segments_whole))


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all skip-grams of every segment: n words in order, with at most ``max_skip`` skipped."""
    # No segment has as many words as there are boundaries, and larger numbers would overflow 64
    # bits.
    min_n, max_n, max_skip = (min(n, len(units.boundaries)) for n in (*ngram_range, max_skip))
    return Ragged(*_native.hash_skipgrams(*units[:4], min_n, max_n, max_skip))
