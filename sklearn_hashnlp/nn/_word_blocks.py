"""Words of a sentence as a block, for a loss at the level of words."""

from __future__ import annotations

import torch
from torch import Tensor


def word_blocks(
    words: Tensor,  # (n_sentences, longest)
) -> tuple[Tensor, Tensor]:
    """List the different words of each sentence."""
    there = words >= 0
    sentences = torch.arange(len(words), device=words.device).unsqueeze(1).expand_as(words)
    blocks, different = torch.unique(torch.stack([sentences[there], words[there]]), dim=1)
    return different, blocks
