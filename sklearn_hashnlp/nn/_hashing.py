"""Universal hash functions of ids, and hashes of word histories."""

from __future__ import annotations

import torch
from torch import Tensor

#: The dtypes that ids may have.
INTEGERS = {
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}
LOW_32_BITS = 2**32 - 1
_MULTIPLIER_1, _MULTIPLIER_2 = 0x85EBCA6B, 0xC2B2AE35  # of fmix32


def mix_tensor(keys: Tensor) -> Tensor:
    """Return ``fmix32`` of the low 32 bits of keys, the finalizer of MurmurHash3: the step that all functions share."""
    if keys.dtype not in INTEGERS:
        raise TypeError(f"Ids must be integers, got a tensor of {keys.dtype}.")
    # Products of two 32-bit numbers overflow an int64, but their low 32 bits are right, and only those are used.
    mixed = keys.to(torch.int64) & LOW_32_BITS  # as an int32 the mask would be -1, and the products would lose bits
    mixed = ((mixed ^ (mixed >> 16)) * _MULTIPLIER_1) & LOW_32_BITS
    mixed = ((mixed ^ (mixed >> 13)) * _MULTIPLIER_2) & LOW_32_BITS
    return mixed ^ (mixed >> 16)


def slot_tensor(mixed: Tensor, constants: tuple[int, int], size: int) -> Tensor:
    """Return the slots of keys that :func:`mix_tensor` has mixed: ``((a * key + b) >> 32) * size >> 32``."""
    # torch has no unsigned 64-bit arithmetic: two's complement overflows to the same bits, and a mask turns the
    # arithmetic shift into a logical one.
    a, b = (value - 2**64 if value >= 2**63 else value for value in constants)
    high = torch.bitwise_right_shift(mixed * a + b, 32) & LOW_32_BITS
    return torch.bitwise_right_shift(high * size, 32)


def hash_tensor(keys: Tensor, constants: tuple[int, int], size: int) -> Tensor:
    """Hash the low 32 bits of keys to ``[0, size)``, on the device of the keys."""
    return slot_tensor(mix_tensor(keys), constants, size)


_GOLDEN = 0x9E3779B1  # an odd number near 2**32 over the golden ratio


def history_hashes(
    context: Tensor,  # (rows, n_words)
    padding_id: int | None = None,
) -> Tensor:  # (rows, n_words)
    """Hash the last word, the last two words, and so on, of each history; -1 where the longer one only adds padding."""
    # h_0 = 0, h_k = fmix32(h_(k-1) * _GOLDEN + w_k + 1), where w_k is the k-th word from the end: the features of
    # maximum-entropy models with hashed n-grams, section 4 of Mikolov, Deoras, Povey, Burget & Cernocky (2011),
    # Strategies for training large scale neural network language models, ASRU.
    context = context.long()  # hashes need more than 32 bits
    hashes = torch.empty_like(context)
    running: Tensor | int = 0
    last = context.shape[1] - 1
    for length in range(last + 1):
        running = mix_tensor(running * _GOLDEN + context[:, last - length] + 1)
        hashes[:, length] = running
    if padding_id is not None and last > 0:
        padded = context == padding_id
        hashes[:, 1:].masked_fill_((padded[:, :-1] & padded[:, 1:]).flip(1), -1)
    return hashes
