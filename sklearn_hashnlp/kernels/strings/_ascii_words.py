"""Words of ASCII texts found 64 characters at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, inlined, inner
from sklearn_hashnlp.kernels._hashes import PADDING

_WINDOW = 4096  # characters, a multiple of 64
_WORD_BITS = 64
_N_UNCONDITIONAL = 12  # typical maximum of words that start in 64 characters
_SPACE_BYTE = 32
_BEYOND = np.iinfo(np.int64).max


@inner
def find_ascii_words(
    documents: NDArray[np.uint8], split_punctuation: bool, lowercase: bool, keep_punctuation: bool
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of ASCII documents in lowercase, the starts of words, then a larger number, and their ends."""
    n_bytes = len(documents)
    lower = np.empty(n_bytes + PADDING, dtype=np.uint8)
    starts, stops = np.empty(n_bytes + _WORD_BITS, dtype=np.int64), np.empty(n_bytes + _WORD_BITS, dtype=np.int64)
    kinds = np.zeros(_WINDOW + 2, dtype=np.uint8)  # from the character before the window to the one after
    is_first, is_last = np.zeros(_WINDOW, dtype=np.uint8), np.zeros(_WINDOW, dtype=np.uint8)
    n_starts = n_stops = np.uint64(0)
    for begin in range(0, n_bytes, _WINDOW):
        kinds[0] = kinds[_WINDOW]
        size = min(_WINDOW, n_bytes - begin)
        _classify(documents, begin, min(size + 1, n_bytes - begin), split_punctuation, lowercase, lower, kinds)
        if size < _WINDOW:
            kinds[size + 1 :] = 0
        _find_ends(kinds, keep_punctuation, is_first, is_last)
        for at in range(0, size, _WORD_BITS):
            n_starts = _list_ones(_pack_bits(is_first, at), begin + at, starts, n_starts)
            n_stops = _list_ones(_pack_bits(is_last, at), begin + at + 1, stops, n_stops)
    starts[n_starts] = _BEYOND
    return lower, starts, stops


@inner
def _classify(
    documents: NDArray[np.uint8],
    begin: Number,
    size: Number,
    split_punctuation: bool,
    lowercase: bool,
    lower: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
) -> None:
    """Set ``kinds[1:]`` to the kinds of characters: 1 in words, 2 for punctuation, 0 for whitespace."""
    # Comparisons instead of a table, since only comparisons become vector instructions.
    first = np.uint64(begin)
    for i in range(np.uint64(size)):
        byte = documents[first + i]
        is_capital = np.uint8(byte - np.uint8(65)) < np.uint8(26)
        letter = np.uint8(np.uint8(byte | np.uint8(32)) - np.uint8(97)) < np.uint8(26)
        is_word = letter | (np.uint8(byte - np.uint8(48)) < np.uint8(10)) | (byte == np.uint8(95))
        is_space = (np.uint8(byte - np.uint8(9)) < np.uint8(5)) | (np.uint8(byte - np.uint8(28)) < np.uint8(5))
        lower[first + i] = byte + (np.uint8(32) if is_capital & lowercase else np.uint8(0))
        mark = np.uint8(2) if split_punctuation else np.uint8(1)
        kind = np.uint8(1) if is_word else mark
        kinds[i + np.uint64(1)] = np.uint8(0) if is_space else kind


@inner
def _find_ends(
    kinds: NDArray[np.uint8], keep_punctuation: bool, is_first: NDArray[np.uint8], is_last: NDArray[np.uint8]
) -> None:
    """Set whether each character is the first, and the last, of a word; kept punctuation is both."""
    one = np.uint64(1)
    for i in range(np.uint64(_WINDOW)):
        before, kind, after = kinds[i], kinds[i + one], kinds[i + one + one]
        is_mark = (kind == np.uint8(2)) & keep_punctuation
        is_first[i] = np.uint8(((kind == np.uint8(1)) & (before != np.uint8(1))) | is_mark)
        is_last[i] = np.uint8(((kind == np.uint8(1)) & (after != np.uint8(1))) | is_mark)


@inlined
def _pack_bits(flags: NDArray[np.uint8], at: Number) -> Number:
    """Return 64 bytes, each 0 or 1, as the bits of a number."""
    bits = np.uint64(0)
    for i in range(np.uint64(0), np.uint64(_WORD_BITS), np.uint64(8)):
        # The multiplication moves the lowest bit of the j-th of eight bytes to bit 56 + j.
        eight = _load_uint64(flags, np.uint64(at) + i) * np.uint64(0x0102040810204080)
        bits |= (eight >> np.uint64(56)) << i
    return bits


@inlined
def _list_ones(bits: Number, begin: Number, positions: NDArray[np.int64], n_positions: Number) -> Number:
    """Append ``begin`` plus the index of each bit that is set; return the number of all positions."""
    # Their number cannot be predicted: a fixed number is written first, even if there are fewer.
    rest = bits
    for i in range(_N_UNCONDITIONAL):
        positions[n_positions + np.uint64(i)] = begin + _trailing_zeros(rest)
        rest &= rest - np.uint64(1)
    end = n_positions + np.uint64(_N_UNCONDITIONAL)
    while rest != np.uint64(0):
        positions[end] = begin + _trailing_zeros(rest)
        end += np.uint64(1)
        rest &= rest - np.uint64(1)
    return n_positions + _count_ones(bits)


@inner
def copy_word(
    lower: NDArray[np.uint8],
    start: Number,
    stop: Number,
    min_length: Number,
    text: NDArray[np.uint8],
    to: Number,
    boundaries: NDArray[np.int64],
    n_boundaries: Number,
) -> tuple[Number, Number]:
    """Append a word and a space to the text; a word that is too short is overwritten by the next."""
    # Eight bytes at a time, since extra bytes are overwritten: most words need two copies, and no branch.
    _store_uint64(text, to, _load_uint64(lower, start))
    _store_uint64(text, to + np.uint64(8), _load_uint64(lower, start + 8))
    length = np.uint64(stop - start)
    for i in range(np.uint64(16), length, np.uint64(8)):
        _store_uint64(text, to + i, _load_uint64(lower, start + np.int64(i)))
    text[to + length] = _SPACE_BYTE
    boundaries[n_boundaries] = to
    is_long = np.uint64(stop - start >= min_length)
    return to + is_long * (length + np.uint64(1)), n_boundaries + is_long


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _trailing_zeros(_typing_context: Any, _bits: Any) -> Any:
    """Count the zeros below the lowest one of 64 bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _count_ones(_typing_context: Any, _bits: Any) -> Any:
    """Count the set bits of 64 bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _load_uint64(_typing_context: Any, array: Any, _index: Any) -> Any:
    """Load eight bytes, at any alignment, as one little-endian number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.load(pointer, align=1)

    return types.uint64(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _store_uint64(_typing_context: Any, array: Any, _index: Any, _number: Any) -> Any:
    """Store a number as eight bytes, at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature, arguments), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    at = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(at, context.get_value_type(types.uint64).as_pointer())
