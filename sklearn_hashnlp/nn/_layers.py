"""Layers of networks: linear layers and dropout with reproducible results, and residual blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class SteadyLinear(nn.Linear):
    """A linear layer that, in evaluation on the CPU, computes the same bytes for a row in any batch."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(
        self,
        input: Tensor,  # noqa: A002 - torch's name; (rows, in_features)
    ) -> Tensor:  # (rows, out_features)
        """Compute the product in float64, and round it to the dtype of the input."""
        # The last bits of a matrix product depend on the number of rows; rounding from float64 removes them.
        if self.training or input.device.type != "cpu":
            return super().forward(input)
        bias = None if self.bias is None else self.bias.double()
        return functional.linear(input.double(), self.weight.double(), bias).to(input.dtype)


_RESOLUTION = 2**16  # numpy draws 16 bits for each element


class SeededDropout(nn.Dropout):
    """:class:`torch.nn.Dropout` that draws from ``generator`` if it is set."""

    generator: np.random.Generator | torch.Generator | None = None  # None: torch's default generator

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)
        if not 0 <= p <= 1:  # torch accepts NaN
            raise ValueError(f"SeededDropout: p must be in 0..1, got {p!r}.")

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Drop elements during training."""
        if self.generator is None or not self.training or self.p == 0.0:
            return super().forward(input)
        if isinstance(self.generator, torch.Generator):
            mask = torch.empty_like(input, requires_grad=False).bernoulli_(1 - self.p, generator=self.generator)
        else:
            draws = self.generator.integers(_RESOLUTION, size=tuple(input.shape), dtype=np.uint16)
            mask = torch.from_numpy(draws >= round(self.p * _RESOLUTION)).to(input)
        return input * mask.div_(1 - self.p) if self.p < 1 else input * mask


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
