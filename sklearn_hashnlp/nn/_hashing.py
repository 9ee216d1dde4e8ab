"""Universal hash functions of ids, and hashes of word histories."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._tensors import is_readable

#: The valid dtypes of ids.
INTEGERS = {
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}
_BELOW_2_32 = {torch.uint8, torch.uint16, torch.uint32}
LOW_32_BITS = 2**32 - 1
_MULTIPLIER_1, _MULTIPLIER_2 = 0x85EBCA6B, 0xC2B2AE35  # constants of fmix32


def mix_tensor(keys: Tensor) -> Tensor:
    """Return ``fmix32`` of the low 32 bits of keys, the finalizer of MurmurHash3."""
    return _mix(to_int64(keys) & LOW_32_BITS)


def mix_ids(ids: Tensor) -> tuple[Tensor, Tensor | None]:
    """Mix 64-bit ids to two 32-bit words for hash functions; the second is None if all are 0."""
    keys = to_int64(ids)
    low = keys & LOW_32_BITS
    if ids.dtype in _BELOW_2_32 or (is_readable(keys) and torch.equal(low, keys)):
        return _mix(low), None
    # Without mixing both halves into the first word, whole rows of a grid of low and high halves
    # would collide.
    high = _mix((keys >> 32) & LOW_32_BITS)
    return _mix(low ^ high), high


def check_integers(caller: str, name: str, tensor: Tensor) -> None:
    """Raise an error for a tensor without integers."""
    if tensor.dtype not in INTEGERS:
        raise TypeError(f"{caller}: {name} must have an integer dtype, got {tensor.dtype}.")


def to_int64(ids: Tensor) -> Tensor:
    """Return ids modulo 2**64 in two's complement."""
    check_integers("HashEmbedding", "ids", ids)
    return ids.to(torch.int64)


def _mix(words: Tensor) -> Tensor:
    """Compute ``fmix32`` of words in place."""
    # Products of two 32-bit numbers overflow an int64, but the low 32 bits, which are used, are
    # correct.
    words ^= words >> 16
    words *= _MULTIPLIER_1
    words &= LOW_32_BITS
    words ^= words >> 13
    words *= _MULTIPLIER_2
    words &= LOW_32_BITS
    words ^= words >> 16
    return words


def slot_tensor(
    mixed: Tensor,  # (...): first word of each id
    constants: tuple[int, ...],  # (a, b, c), or (a, b) without second words
    size: int,
    high: Tensor | None = None,  # (...): second word
) -> Tensor:  # (...)
    """Return the slots of mixed ids: ``((a * mixed + c * high + b) >> 32) * size >> 32``."""
    # torch has no unsigned 64-bit arithmetic, but two's complement gives the same bits, and a mask
    # turns the arithmetic shift into a logical one.
    a, b, *c = (value - 2**64 if value >= 2**63 else value for value in constants)
    slots = mixed * a
    slots += b
    if high is not None:
        slots += high * c[0]
    slots >>= 32
    slots &= LOW_32_BITS
    slots *= size
    slots >>= 32
    return slots


_GOLDEN = 0x9E3779B1  # an odd number near 2**32 over the golden ratio


def history_hashes(
    context: Tensor,  # (rows, n_words)
    padding_id: int | None = None,
) -> Tensor:  # (rows, n_words)
    """Hash the last word, the last two words, ...; -1 if the longer history only adds padding."""
    # h_0 = 0, h_k = fmix32(h_(k-1) * _GOLDEN + w_k + 1), where w_k is the k-th word from the end:
    # features of maximum-entropy models with hashed n-grams, section 4 of Mikolov, Deoras, Povey,
    # Burget & Cernocky (2011), Strategies for training large scale neural network language models,
    # ASRU.
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
