"""The n-grams of a history as numbers, for hashed direct connections."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._universal_hash import mix_tensor

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
