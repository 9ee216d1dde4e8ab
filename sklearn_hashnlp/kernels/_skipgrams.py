"""The skip-grams of words, hashed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._murmur3 import PADDING, murmur3_span
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._units import Units


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all k-skip-n-grams of every segment of words: n words in order, at most k words left out between them."""
    min_n, max_n = ngram_range
    # No segment has as many words as there are posts, and larger numbers would leave 64 bits.
    min_n, max_n, max_skip = (min(number, len(units.posts)) for number in (min_n, max_n, max_skip))
    sizes = np.zeros(len(units.rows), dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    _hash_skipgrams(units.text, units.posts, units.segments, units.rows, min_n, max_n, max_skip, sizes[1:], nothing)
    offsets = np.cumsum(sizes)
    hashes = np.empty(offsets[-1], dtype=np.int32)
    if len(hashes) > 0:
        _hash_skipgrams(units.text, units.posts, units.segments, units.rows, min_n, max_n, max_skip, sizes[1:], hashes)
    return Ragged(hashes, offsets)


@compiled
def _hash_skipgrams(
    text: NDArray[np.uint8],
    posts: NDArray[np.int64],
    segments: NDArray[np.int64],
    rows: NDArray[np.int64],
    min_n: Number,
    max_n: Number,
    max_skip: Number,
    sizes: NDArray[np.int64],
    hashes: NDArray[np.int32],
) -> None:
    """Count the skip-grams of each row, and hash them too if there is room for any."""
    joined = np.empty(len(text) + PADDING, dtype=np.uint8)
    chosen = np.empty(max_n, dtype=np.int64)
    at = 0
    for row in range(len(rows) - 1):
        before = at
        for segment in range(rows[row], rows[row + 1]):
            first, end = segments[segment], segments[segment + 1] - 1
            for n in range(min_n, max_n + 1):
                for start in range(first, end - n + 1):
                    furthest = min(start + n - 1 + max_skip, end - 1)
                    for i in range(n):
                        chosen[i] = start + i
                    while True:
                        if len(hashes) > 0:
                            hashes[at] = _hash_words(text, posts, chosen[:n], joined)
                        at += 1
                        # The next choice: move the last word that can still move, and draw up those behind it.
                        moving = n - 1
                        while moving > 0 and chosen[moving] == furthest - (n - 1 - moving):
                            moving -= 1
                        if moving == 0:
                            break
                        chosen[moving] += 1
                        for i in range(moving + 1, n):
                            chosen[i] = chosen[i - 1] + 1
        sizes[row] = at - before


@compiled
def _hash_words(
    text: NDArray[np.uint8],
    posts: NDArray[np.int64],
    chosen: NDArray[np.int64],
    joined: NDArray[np.uint8],
) -> Number:
    length = 0
    for word in chosen:
        for i in range(posts[word], posts[word + 1]):  # the blank behind the word included
            joined[length] = text[i]
            length += 1
    return murmur3_span(joined, 0, length - 1, 0)
