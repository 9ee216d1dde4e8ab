"""Waves that tell a network where a word stands."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_LONGEST_WAVE = 10000.0


def sinusoids(length: int, width: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return each position a vector of sines and cosines."""
    even = torch.arange(0, width, 2, dtype=torch.float32, device=device)
    frequencies = torch.exp(even * (-math.log(_LONGEST_WAVE) / width))
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]
