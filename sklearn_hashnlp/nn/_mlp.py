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
    """Build the layers from a document vector to one score a class.

    Each hidden layer is linear, batch-normalised, then rectified. The last layer starts as a random orthogonal matrix
    with no bias, so that with an embedding that starts at zero every class pulls it in a direction of its own.

    Parameters
    ----------
    in_features : int
        Columns of the document vector.
    hidden_sizes : sequence of int
        Widths of the hidden layers; the reference has three of 1000, none is softmax regression.
    out_features : int
        Number of classes.
    device : torch.device or str, default=None
        Where the layers are made; None is torch's default.
    dtype : torch.dtype, default=None
        Of the layers; None is torch's default.

    Returns
    -------
    torch.nn.Sequential
        Scores before the softmax come out.

    References
    ----------
    .. [1] Svenstrup, Hansen & Winther (2017). Hash embeddings for efficient word representations. NIPS,
           arXiv:1709.03933, section 5 (three hidden layers of 1000, ReLU, batch normalisation).

    Examples
    --------
    >>> make_head(22, [], 4)
    Sequential(
      (0): Linear(in_features=22, out_features=4, bias=True)
    )
    """
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
    """Build the layers below the last.

    Parameters
    ----------
    in_features : int
        Columns of the document vector.
    hidden_sizes : sequence of int
        Widths of the hidden layers.
    device : torch.device or str, default=None
        Where the layers are made; None is torch's default.
    dtype : torch.dtype, default=None
        Of the layers; None is torch's default.

    Returns
    -------
    list of Module
        For each hidden layer three: linear, batch normalisation, rectifier.
    """
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
