"""Waves that tell a network where a word stands."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_LONGEST_WAVE = 10000.0


def sinusoids(length: int, width: int, *, device: torch.device | str | None = None) -> Tensor:
    """Give each position a vector of sines and cosines.

    Columns 2i and 2i + 1 of row t are the sine and the cosine of t / 10000**(2i / width).

    Parameters
    ----------
    length : int
        Number of positions.
    width : int
        Columns of a vector.
    device : torch.device or str, default=None
        Where to make them.

    Returns
    -------
    Tensor of shape (length, width), dtype float32
        The vectors.

    References
    ----------
    .. [1] Vaswani et al. (2017). Attention is all you need. NIPS, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> sinusoids(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    even = torch.arange(0, width, 2, dtype=torch.float32, device=device)
    frequencies = torch.exp(even * (-math.log(_LONGEST_WAVE) / width))
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]
