"""Sentences as numbers: which words they have, and what each different word looks like."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class WordBatch(NamedTuple):
    """A batch of sentences that holds each different word once.

    Attributes
    ----------
    projections : Tensor of shape (n_different, n_features), dtype float32 or uint8
        A row for each different word of the batch: a projection of its characters, or its bits, 0 and 1.
    words : Tensor of shape (n_sentences, longest), dtype int64
        The words of each sentence as row numbers in ``projections``; -1 is padding.
    weights : Tensor of shape (n_sentences, longest), dtype float32
        How much each word counts when a sentence is pooled, not negative; 0 at padding.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import WordBatch
    >>> words = torch.tensor([[0, 1, 0], [1, -1, -1]])  # a sentence of three words and one of one
    >>> batch = WordBatch(torch.randn(2, 1120), words, (words >= 0).float())
    >>> batch.to("cpu").words.shape
    torch.Size([2, 3])
    """

    projections: Tensor
    words: Tensor
    weights: Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> WordBatch:
        """Move all three tensors.

        Parameters
        ----------
        device : torch.device or str
            Where to.
        non_blocking : bool, default=False
            Whether not to wait for the copy, where the tensors are in pinned memory.

        Returns
        -------
        WordBatch
            The batch there.
        """
        return WordBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in self))
