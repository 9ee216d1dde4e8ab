"""The n-grams of units, hashed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._murmur3 import finish, load_uint32, mix_block
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._units import Units

_SEED = 0
_WORTH_A_VECTOR = 16
_STRIDE = 1024


def hash_ngrams(units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False) -> Ragged:
    """Hash all n-grams of every segment."""
    min_n, max_n = ngram_range
    # No segment has as many units as there are posts, and larger numbers would leave 64 bits.
    min_n, max_n = (min(n, len(units.posts)) for n in (min_n, max_n))
    return Ragged(
        *_hash_ngrams(
            units.text, units.posts, units.segments, units.rows, units.gap, min_n, max_n, short_segments_whole
        )
    )


@compiled
def ngram_offsets(
    segments: NDArray[np.int64], rows: NDArray[np.int64], min_n: Number, max_n: Number, short_segments_whole: bool
) -> NDArray[np.int64]:
    """Return where the n-grams of each row begin if all of them stand end to end; see :class:`Units` for the layout."""
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
    posts: NDArray[np.int64],
    segments: NDArray[np.int64],
    rows: NDArray[np.int64],
    gap: Number,
    min_n: Number,
    max_n: Number,
    short_segments_whole: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    offsets = ngram_offsets(segments, rows, min_n, max_n, short_segments_whole)
    hashes = np.empty(offsets[len(rows) - 1], dtype=np.int32)
    blocks = np.empty(_STRIDE + max_n, dtype=np.uint32)
    states = np.empty(_STRIDE, dtype=np.uint32)
    at = 0
    for segment in range(len(segments) - 1):
        first = segments[segment]
        n_units = segments[segment + 1] - first - 1
        shortest = min(min_n, n_units) if short_segments_whole else min_n
        if shortest == 0 or n_units < shortest:
            continue
        single_bytes = gap == 0 and posts[first + n_units] - posts[first] == n_units
        if single_bytes and n_units >= max(min_n, _WORTH_A_VECTOR):
            longest = min(max_n, n_units)
            at = _hash_single_bytes(text, posts[first], n_units, min_n, longest, blocks, states, hashes, at)
            continue
        for start in range(first, first + n_units - shortest + 1):
            begin = posts[start]
            position = begin
            state = np.uint32(_SEED)
            # A longer n-gram begins with the shorter one: its hash goes on from the same state.
            for last in range(start + shortest, min(start + max_n, first + n_units) + 1):
                stop = posts[last] - gap
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
    for first in range(0, n_units - min_n + 1, _STRIDE):
        n_starts = min(_STRIDE, n_units - first)
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
