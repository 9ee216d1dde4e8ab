"""Residual blocks with layer normalization."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn._reproducible_layers import SeededDropout, SteadyLinear

_GAIN = 0.25  # initial gain of the last normalization; with 1, a small text is worse than word frequencies for an epoch


class ResidualBlock(nn.Module):
    """h + V dropout(relu(U norm(h) + a)) + b, initialized as the identity."""

    def __init__(self, hidden_size: int, dropout: SeededDropout, **place: Any) -> None:  # device and dtype
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size, **place)
        self.first = SteadyLinear(nn.Linear(hidden_size, hidden_size, **place))
        self.dropout = dropout
        self.second = SteadyLinear(nn.Linear(hidden_size, hidden_size, **place))
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the block for rows of shape (rows, hidden_size)."""
        inner: Tensor = torch.relu(self.first(self.norm(hidden)))
        update: Tensor = self.second(self.dropout(inner))
        return hidden + update


class ResidualBlocks(nn.Module):
    """A sequence of residual blocks, and a layer normalization."""

    def __init__(self, hidden_size: int, n_blocks: int, dropout: SeededDropout, **place: Any) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(ResidualBlock(hidden_size, dropout, **place) for _ in range(n_blocks))
        self.norm = nn.LayerNorm(hidden_size, **place)
        nn.init.constant_(self.norm.weight, _GAIN)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the blocks for rows of shape (rows, hidden_size)."""
        for block in self.blocks:
            hidden = block(hidden)
        normalized: Tensor = self.norm(hidden)
        return normalized
