"""Rows of projections, whatever they are made of, to what dense layers learn from best."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

_RESOLUTION = 1e-7  # relative: what float32 tells apart; less is rounding, which must not be made large


class Standardize(nn.Module):
    """Subtract from each column its mean over the rows seen, and divide all by one number."""

    mean: Tensor  # (n_columns,): of each column, over the rows seen
    squares: Tensor  # (): sum of the squares of all that is left when the means are subtracted
    n_rows: Tensor  # (): how many rows were seen

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_columns, dtype=torch.float64, device="cpu"))
        self.register_buffer("squares", torch.zeros((), dtype=torch.float64, device="cpu"))
        self.register_buffer("n_rows", torch.zeros((), dtype=torch.float64, device="cpu"))

    @property
    def scale(self) -> Tensor:
        """What is divided by."""
        variance = self.squares / (self.n_rows * len(self.mean)).clamp(min=1)
        return torch.where(variance > _RESOLUTION**2 * self.mean.square().mean(), variance.sqrt(), 1.0)

    def see(self, rows: NDArray[np.float64]) -> None:
        """Count more rows in."""
        own_mean = rows.mean(axis=0)
        own_squares = float(np.square(rows - own_mean).sum())
        own_mean_there = torch.from_numpy(own_mean).to(self.mean.device)
        # Chan, Golub and LeVeque's rule for the union of two samples.
        total = self.n_rows + len(rows)
        difference = own_mean_there - self.mean
        self.squares += own_squares + difference.square().sum() * self.n_rows * len(rows) / total
        self.mean += difference * (len(rows) / total)
        self.n_rows.copy_(total)

    def forward(self, rows: Tensor) -> Tensor:
        """Standardise rows."""
        return (rows - self.mean.to(rows.dtype)) / self.scale.to(rows.dtype)
