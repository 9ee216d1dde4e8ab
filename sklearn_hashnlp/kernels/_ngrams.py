"""n-grams and skip-grams, hashed by MurmurHash3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import PADDING, finish, load_uint32, mix_block, murmur3_span
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._units import Units

_SEED = 0
_MIN_VECTOR_UNITS = 16
_MAX_VECTOR_UNITS = 1024


def hash_ngrams(units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False) -> Ragged:
    """Hash all n-grams of every segment; ``short_segments_whole`` makes one n-gram of a segment below ``min_n``."""
    # No segment has as many units as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return Ragged(
        *_hash_ngrams(
            units.text,
            units.boundaries,
            units.segments,
            units.rows,
            units.separator_width,
            min_n,
            max_n,
            short_segments_whole,
        )
    )


@compiled
def ngram_offsets(
    segments: NDArray[np.int64], rows: NDArray[np.int64], min_n: Number, max_n: Number, short_segments_whole: bool
) -> NDArray[np.int64]:
    """Return where the n-grams of each row begin, and the end; see :class:`Units` for the layout."""
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


@compiled
def _hash_ngrams(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    segments: NDArray[np.int64],
    rows: NDArray[np.int64],
    separator_width: Number,
    min_n: Number,
    max_n: Number,
    short_segments_whole: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    offsets = ngram_offsets(segments, rows, min_n, max_n, short_segments_whole)
    hashes = np.empty(offsets[len(rows) - 1], dtype=np.int32)
    blocks = np.empty(_MAX_VECTOR_UNITS + max_n, dtype=np.uint32)
    states = np.empty(_MAX_VECTOR_UNITS, dtype=np.uint32)
    at = 0
    for segment in range(len(segments) - 1):
        first = segments[segment]
        n_units = segments[segment + 1] - first - 1
        shortest = min(min_n, n_units) if short_segments_whole else min_n
        if shortest == 0 or n_units < shortest:
            continue
        single_bytes = separator_width == 0 and boundaries[first + n_units] - boundaries[first] == n_units
        if single_bytes and n_units >= max(min_n, _MIN_VECTOR_UNITS):
            longest = min(max_n, n_units)
            at = _hash_single_bytes(text, boundaries[first], n_units, min_n, longest, blocks, states, hashes, at)
            continue
        for start in range(first, first + n_units - shortest + 1):
            begin = boundaries[start]
            position = begin
            state = np.uint32(_SEED)
            # A longer n-gram begins with the shorter one: its hash continues from the same state.
            for last in range(start + shortest, min(start + max_n, first + n_units) + 1):
                stop = boundaries[last] - separator_width
                while position + 4 <= stop:
                    state = mix_block(state, load_uint32(text, position))
                    position += 4
                hashes[at] = finish(state, load_uint32(text, position), stop - begin)
                at += 1
    return hashes, offsets


@compiled
def _hash_single_bytes(
    text: NDArray[np.uint8],
    begin: Number,
    n_units: Number,
    min_n: Number,
    max_n: Number,
    blocks: NDArray[np.uint32],
    states: NDArray[np.uint32],
    hashes: NDArray[np.int32],
    at: Number,
) -> Number:
    """Hash the n-grams of units of one byte each: all of one n at a time, so that the loop is vectorized."""
    # blocks[i] holds the four bytes from the i-th start on, states[i] the hash of its n-gram up to the last multiple of
    # four bytes.
    for first in range(0, n_units - min_n + 1, _MAX_VECTOR_UNITS):
        n_starts = min(_MAX_VECTOR_UNITS, n_units - first)
        for i in range(min(n_starts + max_n, n_units - first + 1)):
            blocks[i] = load_uint32(text, begin + first + i)
        states[:n_starts] = np.uint32(_SEED)
        for n in range(1, max_n + 1):
            n_grams = min(n_starts, n_units - first - n + 1)
            tail = n & ~3
            if n == tail:
                for i in range(n_grams):
                    states[i] = mix_block(states[i], blocks[i + n - 4])
            if n >= min_n:
                for i in range(n_grams):
                    hashes[at + i] = finish(states[i], blocks[i + tail], n)
                at += max(n_grams, 0)
    return at


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all skip-grams of every segment: n words in order, at most ``max_skip`` left out between first and last."""
    # No segment has as many words as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n, max_skip = (min(n, len(units.boundaries)) for n in (*ngram_range, max_skip))
    sizes = np.zeros(len(units.rows), dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    _hash_skipgrams(
        units.text, units.boundaries, units.segments, units.rows, min_n, max_n, max_skip, sizes[1:], nothing
    )
    offsets = np.cumsum(sizes)
    hashes = np.empty(offsets[-1], dtype=np.int32)
    if len(hashes) > 0:
        _hash_skipgrams(
            units.text, units.boundaries, units.segments, units.rows, min_n, max_n, max_skip, sizes[1:], hashes
        )
    return Ragged(hashes, offsets)


@compiled
def _hash_skipgrams(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    segments: NDArray[np.int64],
    rows: NDArray[np.int64],
    min_n: Number,
    max_n: Number,
    max_skip: Number,
    sizes: NDArray[np.int64],
    hashes: NDArray[np.int32],
) -> None:
    """Count the skip-grams of each row, and hash them unless ``hashes`` is empty."""
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
                            hashes[at] = _hash_words(text, boundaries, chosen[:n], joined)
                        at += 1
                        # The next combination: advance the last word that can, and move those after it next to it.
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
    boundaries: NDArray[np.int64],
    chosen: NDArray[np.int64],
    joined: NDArray[np.uint8],
) -> Number:
    length = 0
    for word in chosen:
        for i in range(boundaries[word], boundaries[word + 1]):  # with the space after the word
            joined[length] = text[i]
            length += 1
    return murmur3_span(joined, 0, length - 1, 0)
