"""Words of a sentence as a block, for a loss at the level of words."""

from __future__ import annotations

import torch
from torch import Tensor


def word_blocks(words: Tensor) -> tuple[Tensor, Tensor]:
    """List the different words of each sentence.

    With the vectors of these words, scaled to length one, a loss for blocks such as :class:`SimilarityBXENT` draws
    together the words of a sentence instead of the sentences of a paragraph.

    Parameters
    ----------
    words : Tensor of shape (n_sentences, longest), dtype int64
        The words of each sentence; negative numbers are padding.

    Returns
    -------
    different : Tensor of shape (n,), dtype int64
        The words: each once for each sentence that has it, ascending within a sentence.
    blocks : Tensor of shape (n,), dtype int64
        The sentence of each, ascending.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn._word_blocks import word_blocks
    >>> word_blocks(torch.tensor([[7, 3, 7], [3, -1, -1]]))
    (tensor([3, 7, 3]), tensor([0, 0, 1]))
    """
    there = words >= 0
    sentences = torch.arange(len(words), device=words.device).unsqueeze(1).expand_as(words)
    blocks, different = torch.unique(torch.stack([sentences[there], words[there]]), dim=1)
    return different, blocks
