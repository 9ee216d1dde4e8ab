"""Universal hash functions of ids and of word histories."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.kernels._hashes import splitmix64

#: Raised by one whenever the slot of any key changes, so that a stored model can tell.
HASH_SPECIFICATION = 1

_HALF = 2**32 - 1
_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35  # the multipliers of fmix32
#: What ids may be.
INTEGERS = {
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}


def hash_constants(seed: int, n_functions: int) -> tuple[tuple[int, int], ...]:
    """Draw the two constants of each of several independent hash functions."""
    values = splitmix64(seed, 2 * n_functions)
    return tuple(zip(values[::2], values[1::2], strict=True))


def hash_array(keys: NDArray[Any], constants: tuple[int, int], size: int) -> NDArray[np.int64]:
    """Hash 32-bit keys to ``[0, size)`` with numpy."""
    if keys.dtype.kind not in "iu":
        raise TypeError(f"Ids must be integers, got an array of {keys.dtype}.")
    a, b = (np.uint64(value) for value in constants)
    mixed = keys.reshape(-1).astype(np.uint32)  # flat, as numpy warns when scalars wrap around but not when arrays do
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(_FIRST)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(_SECOND)
    mixed ^= mixed >> np.uint32(16)
    high = (mixed.astype(np.uint64) * a + b) >> np.uint64(32)
    return ((high * np.uint64(size)) >> np.uint64(32)).astype(np.int64).reshape(keys.shape)


def mix_tensor(keys: Tensor) -> Tensor:
    """Take the first step of :func:`hash_array`, ``fmix32``, which all hash functions share."""
    if keys.dtype not in INTEGERS:
        raise TypeError(f"Ids must be integers, got a tensor of {keys.dtype}.")
    # Products of two 32-bit numbers wrap around an int64, but their low 32 bits are right, and only those are kept.
    mixed = keys.to(torch.int64) & _HALF  # in 32 bits the mask would be -1 and the arithmetic would lose bits
    mixed = ((mixed ^ (mixed >> 16)) * _FIRST) & _HALF
    mixed = ((mixed ^ (mixed >> 13)) * _SECOND) & _HALF
    return mixed ^ (mixed >> 16)


def slot_tensor(mixed: Tensor, constants: tuple[int, int], size: int) -> Tensor:
    """Take the other steps of :func:`hash_array`, which differ from function to function."""
    # Torch has no unsigned 64-bit arithmetic: two's complement wraps around to the same bits, and the arithmetic shift
    # is made a logical one by a mask.
    a, b = (value - 2**64 if value >= 2**63 else value for value in constants)
    high = torch.bitwise_right_shift(mixed * a + b, 32) & _HALF
    return torch.bitwise_right_shift(high * size, 32)


def hash_tensor(keys: Tensor, constants: tuple[int, int], size: int) -> Tensor:
    """Hash 32-bit keys to ``[0, size)`` with torch, on whatever device they are."""
    return slot_tensor(mix_tensor(keys), constants, size)


_FACTOR = 0x9E3779B1  # an odd number near 2**32 over the golden ratio


def history_hashes(
    context: Tensor,  # (rows, n_words)
    padding_id: int | None = None,
) -> Tensor:  # (rows, n_words)
    """Hash the last word, the last two words, and so on, of every history."""
    context = context.long()  # hashes need more than 32 bits
    hashes = torch.empty_like(context)
    running: Tensor | int = 0
    last = context.shape[1] - 1
    for length in range(last + 1):
        running = mix_tensor(running * _FACTOR + context[:, last - length] + 1)
        hashes[:, length] = running
    if padding_id is not None and last > 0:
        padded = context == padding_id
        hashes[:, 1:].masked_fill_((padded[:, :-1] & padded[:, 1:]).flip(1), -1)
    return hashes
