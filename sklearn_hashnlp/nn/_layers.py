"""Layers: linear layers and dropout with reproducible results, residual blocks, dense networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, number


class SteadyLinear(nn.Linear):
    """A linear layer; in evaluation on the CPU a row has the same bytes in any batch."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(
            layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta"
        )
        self.weight, self.bias = layer.weight, layer.bias

    def forward(
        self,
        input: Tensor,  # noqa: A002 - torch's name; (rows, in_features)
    ) -> Tensor:  # (rows, out_features)
        """Compute the product in float64, and round it to the dtype of the input."""
        # The last bits of a matrix product depend on the number of rows; rounding from float64
        # removes them.
        if self.training or input.device.type != "cpu":
            return super().forward(input)
        bias = None if self.bias is None else self.bias.double()
        return functional.linear(input.double(), self.weight.double(), bias).to(input.dtype)


_RESOLUTION = 2**16  # numpy draws 16 bits for each element


class SeededDropout(nn.Dropout):
    """:class:`torch.nn.Dropout` that draws from ``generator`` if it is set."""

    # None: torch's default generator
    generator: np.random.Generator | torch.Generator | None = None

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)
        check_parameters("SeededDropout", {"p": number(0, 1)}, {"p": p})  # torch accepts NaN

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Drop elements during training."""
        if self.generator is None or not self.training or self.p == 0.0:
            return super().forward(input)
        if isinstance(self.generator, torch.Generator):
            mask = torch.empty_like(input, requires_grad=False).bernoulli_(
                1 - self.p, generator=self.generator
            )
        else:
            draws = self.generator.integers(_RESOLUTION, size=tuple(input.shape), dtype=np.uint16)
            mask = torch.from_numpy(draws >= round(self.p * _RESOLUTION)).to(input)
        return input * mask.div_(1 - self.p) if self.p < 1 else input * mask


# initial gain of the last normalization; with 1, a small text is worse than word frequencies for an
# epoch
_GAIN = 0.25


class ResidualBlock(nn.Module):
    """h + V dropout(relu(U norm(h) + a)) + b, initialized as the identity."""

    # ``place``: device and dtype of the parameters
    def __init__(self, hidden_size: int, dropout: SeededDropout, **place: Any) -> None:
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

    def __init__(
        self, hidden_size: int, n_blocks: int, dropout: SeededDropout, **place: Any
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            ResidualBlock(hidden_size, dropout, **place) for _ in range(n_blocks)
        )
        self.norm = nn.LayerNorm(hidden_size, **place)
        nn.init.constant_(self.norm.weight, _GAIN)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the blocks for rows of shape (rows, hidden_size)."""
        for block in self.blocks:
            hidden = block(hidden)
        normalized: Tensor = self.norm(hidden)
        return normalized


# relative resolution of float32; a smaller deviation is a rounding error
_FLOAT32_RESOLUTION = 1e-7


class Standardize(nn.Module):
    """Subtract the mean of each column, and divide by the root of the columns' mean variance."""

    # The columns of a projection only differ by their means, so they share the scale. Dividing by
    # its own deviation would make an almost constant column large.
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
        return torch.where(
            variance > _FLOAT32_RESOLUTION**2 * self.mean.square().mean(), variance.sqrt(), 1.0
        )

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
                layer.generator = torch.Generator(device).manual_seed(
                    int(sequence.generate_state(1)[0])
                )
        try:
            yield
        finally:
            for layer in layers:
                layer.generator = None
