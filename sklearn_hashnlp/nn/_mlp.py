"""The head on top of a document vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


def make_head(
    in_features: int,
    hidden_sizes: Sequence[int],
    out_features: int,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Sequential:
    """Build the layers from a document vector to one score a class."""
    layers = make_hidden_layers(in_features, hidden_sizes, device=device, dtype=dtype)
    width = hidden_sizes[-1] if hidden_sizes else in_features
    last = nn.Linear(width, out_features, device=device, dtype=dtype)
    nn.init.orthogonal_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


def make_hidden_layers(
    in_features: int,
    hidden_sizes: Sequence[int],
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> list[nn.Module]:
    """Build the layers below the last."""
    layers: list[nn.Module] = []
    width = in_features
    for size in hidden_sizes:
        layers += [
            nn.Linear(width, size, device=device, dtype=dtype),
            nn.BatchNorm1d(size, device=device, dtype=dtype),
            nn.ReLU(),
        ]
        width = size
    return layers
