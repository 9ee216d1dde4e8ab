"""The n-grams of a history as numbers, for hashed direct connections."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._universal_hash import mix_tensor

_FACTOR = 0x9E3779B1  # an odd number near 2**32 over the golden ratio


def history_hashes(context: Tensor, padding_id: int | None = None) -> Tensor:
    """Hash the last word, the last two words, and so on, of every history.

    Each is one number of 32 bits, made from that of the history a word shorter:
    ``h_k = mix(h_(k-1) * 0x9E3779B1 + w_k + 1)`` with ``h_0 = 0``, where ``w_k`` is the k-th word from the end and
    ``mix`` the finaliser of MurmurHash3 (:func:`mix_tensor`).

    Parameters
    ----------
    context : Tensor of shape (rows, n_words), any integer dtype
        Word ids, the oldest first.
    padding_id : int, default=None
        The word that a history is filled up with. Where it stands before itself, the longer history says no more than
        the shorter one and is absent.

    Returns
    -------
    Tensor of shape (rows, n_words), dtype int64
        The hashes in [0, 2**32), of the shortest history first; -1 where absent.

    References
    ----------
    .. [1] Mikolov, Deoras, Povey, Burget & Černocký (2011). Strategies for training large scale neural network
           language models. ASRU, section 4 (maximum entropy models by hashed n-gram features).

    Examples
    --------
    >>> import torch
    >>> hashes = history_hashes(torch.tensor([[0, 3, 4], [1, 3, 4], [9, 9, 4]]), padding_id=9)
    >>> (hashes[0] == hashes[1]).tolist()
    [True, True, False]
    >>> hashes[2, 2].item()
    -1
    """
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
