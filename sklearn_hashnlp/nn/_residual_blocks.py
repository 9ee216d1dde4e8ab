"""Residual blocks with layer normalization, the body of a modern feed-forward network."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn._reproducible_layers import SeededDropout, SteadyLinear

_GAIN = 0.25  # of the last normalization at first: with 1 the first epoch on a small text ends above word frequencies


class ResidualBlock(nn.Module):
    """h + V dropout(relu(U norm(h) + a)) + b, which begins as h."""

    def __init__(self, hidden_size: int, dropout: SeededDropout, **place: Any) -> None:  # device and dtype
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size, **place)
        self.first = SteadyLinear(nn.Linear(hidden_size, hidden_size, **place))
        self.dropout = dropout
        self.second = SteadyLinear(nn.Linear(hidden_size, hidden_size, **place))
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the block, of and to shape (rows, hidden_size)."""
        inner: Tensor = torch.relu(self.first(self.norm(hidden)))
        update: Tensor = self.second(self.dropout(inner))
        return hidden + update


class ResidualBlocks(nn.Module):
    """Residual blocks one after another, and the layer normalization of their result."""

    def __init__(self, hidden_size: int, n_blocks: int, dropout: SeededDropout, **place: Any) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(ResidualBlock(hidden_size, dropout, **place) for _ in range(n_blocks))
        self.norm = nn.LayerNorm(hidden_size, **place)
        nn.init.constant_(self.norm.weight, _GAIN)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the blocks, of and to shape (rows, hidden_size)."""
        for block in self.blocks:
            hidden = block(hidden)
        normalized: Tensor = self.norm(hidden)
        return normalized
