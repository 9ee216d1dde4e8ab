"""The network over dense rows: standardised, then dense layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp.nn._reproducible_layers import SeededDropout

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


class DenseLayers(nn.Module):
    """Rows to one score a class: standardised, then linear and rectified layers, with dropout before each."""

    def __init__(
        self,
        in_features: int,
        *,
        packed: bool,
        hidden_sizes: Sequence[int],
        num_classes: int,
        dropout: float,
        input_dropout: float,
    ) -> None:
        super().__init__()
        self.packed = packed
        self.standardize = Standardize(in_features)
        layers: list[nn.Module] = [SeededDropout(input_dropout)]
        width = in_features
        for size in hidden_sizes:
            linear = nn.Linear(width, size, device="cpu", dtype=torch.float32)
            layers += [linear, nn.ReLU(), SeededDropout(dropout)]
            width = size
        last = nn.Linear(width, num_classes, device="cpu", dtype=torch.float32)
        self.head = nn.Sequential(*layers, last)

    def widen(self, rows: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Make a number of each column."""
        if self.packed:
            places = torch.arange(7, -1, -1, dtype=torch.uint8, device=rows.device)
            rows = (rows.unsqueeze(-1) >> places & 1).flatten(1)
        return rows.to(dtype)

    def forward(self, rows: Tensor) -> Tensor:
        """Score rows."""
        dtype = next(self.parameters()).dtype
        scores: Tensor = self.head(self.standardize(self.widen(rows, dtype)))
        return scores

    @contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Let dropout draw from generators of its own."""
        device = self.standardize.mean.device
        layers = [layer for layer in self.head if isinstance(layer, SeededDropout)]
        for place, layer in enumerate(layers):
            sequence = np.random.SeedSequence((seed, place))
            if device.type == "cpu":
                layer.generator = np.random.default_rng(sequence)
            else:
                layer.generator = torch.Generator(device).manual_seed(int(sequence.generate_state(1)[0]))
        try:
            yield
        finally:
            for layer in layers:
                layer.generator = None
