"""n-grams and skip-grams, hashed by MurmurHash3."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._hashes import PADDING, finish, load_uint32, mix_block, murmur3_span
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import Units

_SEED = 0
_MIN_VECTOR_UNITS = 16
_MAX_VECTOR_UNITS = 1024
_MAX_SHORT_UNITS = 64  # of segments whose n-grams are hashed together; some of these n-grams are not used
_MAX_ORDERS = 8  # values of n for which they are
_LANES = 16  # numbers that are copied at once
_MAX_BLOCKS = 6  # of four bytes, of words and pairs of words that are hashed together


def hash_ngrams(units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False) -> Ragged:
    """Hash all n-grams of every segment; ``short_segments_whole`` makes one n-gram of a segment below ``min_n``."""
    # No segment has as many units as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return _hash_ngrams(units, min_n, max_n, short_segments_whole)


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


@compiled
def _hash_ngrams(units: Units, min_n: Number, max_n: Number, short_segments_whole: bool) -> Ragged:
    text, boundaries, segments, rows, separator_width = units
    offsets = ngram_offsets(segments, rows, min_n, max_n, short_segments_whole)
    n_hashes = offsets[len(rows) - 1]
    hashes = np.empty(n_hashes + _LANES, dtype=np.int32)
    if separator_width == 1 and max_n <= 2 and not short_segments_whole:
        _hash_words_and_pairs(text, boundaries, segments, min_n, max_n, hashes)
    else:
        _hash_segments(text, boundaries, segments, separator_width, min_n, max_n, short_segments_whole, hashes)
    return Ragged(hashes[:n_hashes], offsets)


@inner
def _hash_words_and_pairs(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    segments: NDArray[np.int64],
    min_n: Number,
    max_n: Number,
    hashes: NDArray[np.int32],
) -> None:
    """Hash words, pairs of words or both, of all segments in one loop without branches."""
    words, pairs = np.empty(len(boundaries), dtype=np.int32), np.empty(len(boundaries), dtype=np.int32)
    blocks = np.empty((_MAX_BLOCKS, _MAX_VECTOR_UNITS), dtype=np.uint32)
    lengths = np.empty((2, _MAX_VECTOR_UNITS), dtype=np.uint32)
    # N-grams that span two segments are not used, and longer n-grams are replaced below.
    one = np.uint64(1)
    n_starts = len(boundaries) - 1
    for first in range(0, n_starts, _MAX_VECTOR_UNITS):
        size = np.uint64(min(_MAX_VECTOR_UNITS, n_starts - first))
        begin_of_window = np.uint64(first)
        for i in range(size):
            start = begin_of_window + i
            begin = boundaries[start]
            for block in range(np.uint64(_MAX_BLOCKS)):
                blocks[block, i] = load_uint32(text, begin + np.int64(4) * np.int64(block))
            lengths[0, i] = boundaries[start + one] - begin - 1
            lengths[1, i] = boundaries[min(start + one + one, np.uint64(n_starts))] - begin - 1
        _hash_blocks(blocks, lengths[0], size, words[first:])
        _hash_blocks(blocks, lengths[1], size, pairs[first:])
    at = np.uint64(0)
    for segment in range(len(segments) - 1):
        start_of_segment, end = np.uint64(segments[segment]), np.uint64(segments[segment + 1])
        for n_words in range(min_n, max_n + 1):
            width = np.uint64(n_words)
            for i in range(start_of_segment, max(end, start_of_segment + width) - width):
                begin, stop = boundaries[i], boundaries[i + width] - 1
                hash_ = words[i] if n_words == 1 else pairs[i]
                hashes[at] = hash_ if stop - begin < _MAX_BLOCKS * 4 else murmur3_span(text, begin, stop, _SEED)
                at += one


@inner
def _hash_blocks(
    blocks: NDArray[np.uint32],  # (_MAX_BLOCKS, at least size): the bytes of each n-gram, and some more
    lengths: NDArray[np.uint32],  # (at least size,): in bytes, less than 4 * _MAX_BLOCKS
    size: Number,
    hashes: NDArray[np.int32],
) -> None:
    """Hash many n-grams in one loop without branches: each hash continues from the state after its own blocks."""
    b_0, b_1, b_2, b_3, b_4, b_5 = blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5]
    for i in range(size):
        s_1 = mix_block(np.uint32(_SEED), b_0[i])
        s_2 = mix_block(s_1, b_1[i])
        s_3 = mix_block(s_2, b_2[i])
        s_4 = mix_block(s_3, b_3[i])
        s_5 = mix_block(s_4, b_4[i])
        n = np.uint32(lengths[i] >> np.uint32(2))
        state = _choose(n, np.uint32(_SEED), s_1, s_2, s_3, s_4, s_5)
        tail = _choose(n, b_0[i], b_1[i], b_2[i], b_3[i], b_4[i], b_5[i])
        hashes[i] = finish(state, tail, lengths[i])


@inner
def _choose(n: Number, v_0: Number, v_1: Number, v_2: Number, v_3: Number, v_4: Number, v_5: Number) -> Number:
    """Return the n-th value, the last for a larger n."""
    return v_0 if n == 0 else v_1 if n == 1 else v_2 if n == 2 else v_3 if n == 3 else v_4 if n == 4 else v_5


@inner
def _hash_segments(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    segments: NDArray[np.int64],
    separator_width: Number,
    min_n: Number,
    max_n: Number,
    short_segments_whole: bool,
    hashes: NDArray[np.int32],
) -> None:
    blocks = np.empty(_MAX_VECTOR_UNITS + max_n, dtype=np.uint32)
    states = np.empty(_MAX_VECTOR_UNITS, dtype=np.uint32)
    n_orders = max(min(max_n - min_n + 1, _MAX_ORDERS), 1)
    window = np.empty((n_orders, _MAX_VECTOR_UNITS + _LANES), dtype=np.int32)
    at = segment = 0
    while segment < len(segments) - 1:
        first = segments[segment]
        n_units = segments[segment + 1] - first - 1
        single_bytes = separator_width == 0 and boundaries[first + n_units] - boundaries[first] == n_units
        if single_bytes and n_units <= _MAX_SHORT_UNITS and max_n - min_n < _MAX_ORDERS:
            end = segment + 1
            while end < len(segments) - 1 and _fits_window(boundaries, segments, end, boundaries[first]):
                end += 1
            at = _hash_short_segments(
                text,
                boundaries,
                segments[segment : end + 1],
                min_n,
                max_n,
                short_segments_whole,
                blocks,
                states,
                window,
                hashes,
                at,
            )
            segment = end
            continue
        segment += 1
        shortest = min(min_n, n_units) if short_segments_whole else min_n
        if shortest == 0 or n_units < shortest:
            continue
        if single_bytes and n_units >= max(min_n, _MIN_VECTOR_UNITS):
            longest = min(max_n, n_units)
            at = _hash_single_bytes(text, boundaries[first], n_units, min_n, longest, blocks, states, hashes, at)
        else:
            at = _hash_segment(text, boundaries, first, n_units, separator_width, shortest, max_n, hashes, at)


@inner
def _fits_window(boundaries: NDArray[np.int64], segments: NDArray[np.int64], segment: Number, begin: Number) -> bool:
    """Check that a segment is short, of single bytes, after the previous one, and ends in the window from ``begin``."""
    first, end = segments[segment], segments[segment + 1] - 1
    return bool(
        end - first <= _MAX_SHORT_UNITS
        and boundaries[end] - boundaries[first] == end - first
        and boundaries[first] == boundaries[first - 1]
        and boundaries[end] - begin <= _MAX_VECTOR_UNITS
    )


@inner
def _hash_short_segments(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    segments: NDArray[np.int64],
    min_n: Number,
    max_n: Number,
    short_segments_whole: bool,
    blocks: NDArray[np.uint32],
    states: NDArray[np.uint32],
    window: NDArray[np.int32],
    hashes: NDArray[np.int32],
    at: Number,
) -> Number:
    """Hash the n-grams of segments of single bytes that follow each other: first of all their bytes, then choose."""
    begin = boundaries[segments[0]]
    n_bytes = boundaries[segments[len(segments) - 1] - 1] - begin
    max_n = min(max_n, _MAX_SHORT_UNITS)  # no segment is longer
    # The n bytes from each position on, for each n. Blocks after the text may have any value, since their n-grams are
    # not used.
    _load_blocks(text, begin, min(n_bytes + max_n, len(text) - begin - 3), n_bytes, blocks, states)
    for n in range(1, max_n + 1):
        _mix_blocks(n, n_bytes, blocks, states)
        if n >= min_n:
            _finish_hashes(n, n_bytes, blocks, states, window[n - min_n])
    for segment in range(len(segments) - 1):
        first = segments[segment]
        n_units = segments[segment + 1] - first - 1
        start = np.uint64(boundaries[first] - begin)
        for n in range(min_n, max_n + 1):
            # Whole vectors are copied, without a branch for most lengths; the next ones overwrite the excess.
            n_grams = max(n_units - n + 1, 0)
            hashes_of_n = window[n - min_n]
            _copy_lanes(hashes, np.uint64(at), hashes_of_n, start)
            for i in range(np.uint64(_LANES), np.uint64(n_grams), np.uint64(_LANES)):
                _copy_lanes(hashes, np.uint64(at) + i, hashes_of_n, start + i)
            at += n_grams
        if short_segments_whole and 0 < n_units < min_n:
            hashes[at] = murmur3_span(text, boundaries[first], boundaries[first] + n_units, _SEED)
            at += 1
    return at


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _copy_lanes(_typing_context: Any, to: Any, _at: Any, source: Any, _start: Any) -> Any:
    """Copy a vector of numbers to ``to[at]`` and on; a loop would not be one, as the arrays might overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), _LANES).as_pointer()
        target, values = (
            builder.bitcast(builder.gep(context.make_array(kind)(context, builder, array).data, [index]), vector)
            for kind, array, index in zip(
                (signature.args[0], signature.args[2]), arguments[::2], arguments[1::2], strict=True
            )
        )
        builder.store(builder.load(values, align=4), target, align=4)
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), generate


@inner
def _hash_segment(
    text: NDArray[np.uint8],
    boundaries: NDArray[np.int64],
    first: Number,
    n_units: Number,
    separator_width: Number,
    min_n: Number,
    max_n: Number,
    hashes: NDArray[np.int32],
    at: Number,
) -> Number:
    """Hash the n-grams of any one segment."""
    for start in range(first, first + n_units - min_n + 1):
        begin = boundaries[start]
        position = begin
        state = np.uint32(_SEED)
        # A longer n-gram starts with the shorter one: its hash continues from the same state.
        for last in range(start + min_n, min(start + max_n, first + n_units) + 1):
            stop = boundaries[last] - separator_width
            while position + 4 <= stop:
                state = mix_block(state, load_uint32(text, position))
                position += 4
            hashes[at] = finish(state, load_uint32(text, position), np.uint32(stop - begin))
            at += 1
    return at


@inner
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
    """Hash the n-grams of a long segment of single bytes, one n at a time, in a vectorized loop."""
    for first in range(0, n_units - min_n + 1, _MAX_VECTOR_UNITS):
        n_starts = min(_MAX_VECTOR_UNITS, n_units - first)
        _load_blocks(text, begin + first, min(n_starts + max_n, n_units - first + 1), n_starts, blocks, states)
        for n in range(1, max_n + 1):
            n_grams = max(min(n_starts, n_units - first - n + 1), 0)
            _mix_blocks(n, n_grams, blocks, states)
            if n >= min_n:
                _finish_hashes(n, n_grams, blocks, states, hashes[at : at + n_grams])
                at += n_grams
    return at


@inner
def _load_blocks(
    text: NDArray[np.uint8],
    begin: Number,
    n_blocks: Number,
    n_starts: Number,
    blocks: NDArray[np.uint32],
    states: NDArray[np.uint32],
) -> None:
    """Set blocks[i] to the four bytes that start at position i, and all states to the state of an empty n-gram."""
    for i in range(n_blocks):
        blocks[i] = load_uint32(text, begin + i)
    states[:n_starts] = np.uint32(_SEED)


@inner
def _mix_blocks(n: Number, n_grams: Number, blocks: NDArray[np.uint32], states: NDArray[np.uint32]) -> None:
    """Continue the states of n-grams of n bytes with their last four, if n is a multiple of four."""
    if n & 3 == 0:
        last = np.uint64(n - 4)
        for i in range(np.uint64(n_grams)):
            states[i] = mix_block(states[i], blocks[i + last])


@inner
def _finish_hashes(
    n: Number, n_grams: Number, blocks: NDArray[np.uint32], states: NDArray[np.uint32], hashes: NDArray[np.int32]
) -> None:
    tail = np.uint64(n & ~3)
    for i in range(np.uint64(n_grams)):
        hashes[i] = finish(states[i], blocks[i + tail], np.uint32(n))


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all skip-grams of every segment: n words in order, at most ``max_skip`` left out between first and last."""
    # No segment has as many words as there are boundaries, and larger numbers would overflow 64 bits.
    min_n, max_n, max_skip = (min(n, len(units.boundaries)) for n in (*ngram_range, max_skip))
    sizes = np.zeros(len(units.rows), dtype=np.int64)
    _hash_skipgrams(units, min_n, max_n, max_skip, sizes[1:], np.empty(0, dtype=np.int32))
    offsets = np.cumsum(sizes)
    hashes = np.empty(offsets[-1], dtype=np.int32)
    if len(hashes) > 0:
        _hash_skipgrams(units, min_n, max_n, max_skip, sizes[1:], hashes)
    return Ragged(hashes, offsets)


@compiled
def _hash_skipgrams(
    units: Units,
    min_n: Number,
    max_n: Number,
    max_skip: Number,
    sizes: NDArray[np.int64],
    hashes: NDArray[np.int32],
) -> None:
    """Count the skip-grams of each row, and hash them unless ``hashes`` is empty."""
    text, boundaries, segments, rows, _ = units
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
                        # The next combination: advance the last possible word, and move the following words next to it.
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
