"""The hash functions: MurmurHash3 of bytes and of 32-bit integers, SplitMix64 of 64-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_hashnlp import _hash_specification
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._compile import Number, inner
from sklearn_hashnlp.kernels._ragged import Ragged

PADDING = 32
"""Number of bytes that must be readable after the hashed ones, since hashing reads up to six times four at once."""

_C1 = np.uint32(0xCC9E2D51)
_C2 = np.uint32(0x1B873593)
_FIVE = np.uint32(5)
_ADDEND = np.uint32(0xE6546B64)
FMIX_1 = np.uint32(0x85EBCA6B)
FMIX_2 = np.uint32(0xC2B2AE35)


@inner
def fmix32(word: Number) -> Number:
    """Mix the bits of a 32-bit word: the finalizer of MurmurHash3. No two words become one."""
    word = np.uint32((word ^ np.uint32(word >> np.uint32(16))) * FMIX_1)
    word = np.uint32((word ^ np.uint32(word >> np.uint32(13))) * FMIX_2)
    return np.uint32(word ^ np.uint32(word >> np.uint32(16)))


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def load_uint32(_typing_context: Any, text: Any, position: Any) -> Any:  # noqa: ARG001 - numba passes all of them
    """Load four bytes, at any alignment, as one little-endian number: a single instruction on x86 and ARM."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(at, context.get_value_type(types.uint32).as_pointer()), align=1)

    return types.uint32(text, types.intp), generate


@inner
def mix_block(state: Number, block: Number) -> Number:
    """Update the state of the hash with four bytes, read as one little-endian number."""
    block = np.uint32(block * _C1)
    block = np.uint32(block << np.uint32(15)) | np.uint32(block >> np.uint32(17))
    state = np.uint32(state ^ np.uint32(block * _C2))
    state = np.uint32(state << np.uint32(13)) | np.uint32(state >> np.uint32(19))
    return np.uint32(np.uint32(state * _FIVE) + _ADDEND)


@inner
def finish(state: Number, block: Number, length: Number) -> Number:
    """Return the hash, signed, after the first ``length % 4`` bytes of the last block and the length in bytes."""
    # Without remaining bytes the mask is 0, and a tail of 0 does not change the state: no branch is needed.
    mask = np.uint32((np.uint32(1) << np.uint32(8 * (length & 3))) - np.uint32(1))
    tail = np.uint32(np.uint32(block & mask) * _C1)
    tail = np.uint32(tail << np.uint32(15)) | np.uint32(tail >> np.uint32(17))
    state = np.uint32(state ^ np.uint32(tail * _C2))
    return np.int32(fmix32(np.uint32(state ^ np.uint32(length))))


@inner
def murmur3_span(text: NDArray[np.uint8], start: Number, stop: Number, seed: Number) -> Number:
    """Hash the bytes ``text[start:stop]``; ``PADDING`` more must be readable."""
    state = np.uint32(seed)
    position = start
    while position + 4 <= stop:
        state = mix_block(state, load_uint32(text, position))
        position += 4
    return finish(state, load_uint32(text, position), np.uint32(stop - start))


def murmur3(rows: Ragged, *, seed: int = 0) -> NDArray[np.int32]:
    """Hash each row of bytes with MurmurHash3_x86_32, as ``sklearn.utils.murmurhash3_32`` does."""
    hashes = np.empty(len(rows.offsets) - 1, dtype=np.int32)
    padded = np.concatenate((rows.values, np.zeros(PADDING, dtype=np.uint8)))
    _native.hash_rows(padded, rows.offsets, seed, hashes)
    return hashes


GAMMA = np.uint64(_hash_specification.GAMMA)
"""The increment of SplitMix64's state: 2**64 over the golden ratio."""
_FIRST, _SECOND = map(np.uint64, _hash_specification.MULTIPLIERS)


@inner
def mix_word(word: Number) -> Number:
    """Mix the bits of a 64-bit word: the output function of SplitMix64. No two words become one."""
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))
