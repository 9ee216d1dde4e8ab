"""The network over dense rows, such as projections: standardization and dense layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sklearn_hashnlp.nn._layers import SeededDropout

_RESOLUTION = 1e-7  # relative resolution of float32; a smaller deviation is a rounding error


class Standardize(nn.Module):
    """Subtract the mean of each column, and divide all columns by the root of their mean variance."""

    # The columns of a projection only differ by their means, so they share the scale. Dividing by its own deviation
    # would make an almost constant column large.
    mean: Tensor  # (n_columns,): running mean of each column
    squares: Tensor  # (): sum of the squared deviations from the means
    n_rows: Tensor  # (): number of rows so far

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_columns, dtype=torch.float64, device="cpu"))
        self.register_buffer("squares", torch.zeros((), dtype=torch.float64, device="cpu"))
        self.register_buffer("n_rows", torch.zeros((), dtype=torch.float64, device="cpu"))

    @property
    def scale(self) -> Tensor:
        """The divisor; 1 if the columns are constant up to rounding."""
        variance = self.squares / (self.n_rows * len(self.mean)).clamp(min=1)
        return torch.where(variance > _RESOLUTION**2 * self.mean.square().mean(), variance.sqrt(), 1.0)

    def update(
        self,
        rows: NDArray[np.float64],  # (n_rows, n_columns)
    ) -> None:
        """Update mean and variance with more rows, by the formula of Chan, Golub and LeVeque."""
        mean = rows.mean(axis=0)
        squares = float(np.square(rows - mean).sum())
        total = self.n_rows + len(rows)
        difference = torch.from_numpy(mean).to(self.mean.device) - self.mean
        self.squares += squares + difference.square().sum() * self.n_rows * len(rows) / total
        self.mean += difference * (len(rows) / total)
        self.n_rows.copy_(total)

    def forward(self, rows: Tensor) -> Tensor:
        """Standardize rows."""
        return (rows - self.mean.to(rows.dtype)) / self.scale.to(rows.dtype)


class DenseNetwork(nn.Module):
    """A multilayer perceptron over standardized rows, with dropout before each layer."""

    def __init__(
        self,
        in_features: int,
        *,
        packed: bool,  # whether bytes hold eight columns each, as from numpy.packbits
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

    def unpack(self, rows: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Convert rows to floating-point numbers, and packed bits to one column each."""
        if self.packed:
            shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=rows.device)
            rows = (rows.unsqueeze(-1) >> shifts & 1).flatten(1)
        return rows.to(dtype)

    def forward(self, rows: Tensor) -> Tensor:
        """Compute one score for each class."""
        dtype = next(self.parameters()).dtype
        scores: Tensor = self.head(self.standardize(self.unpack(rows, dtype)))
        return scores

    @contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Draw from a seeded generator in each dropout layer."""
        device = self.standardize.mean.device
        layers = [layer for layer in self.head if isinstance(layer, SeededDropout)]
        for index, layer in enumerate(layers):
            sequence = np.random.SeedSequence((seed, index))
            if device.type == "cpu":
                layer.generator = np.random.default_rng(sequence)
            else:
                layer.generator = torch.Generator(device).manual_seed(int(sequence.generate_state(1)[0]))
        try:
            yield
        finally:
            for layer in layers:
                layer.generator = None
