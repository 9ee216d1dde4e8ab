"""The network inside SGNNClassifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from sklearn_hashnlp.estimators._row_module import RowModule
from sklearn_hashnlp.estimators._standardize import Standardize
from sklearn_hashnlp.nn._seeded_dropout import SeededDropout


class DenseLayers(RowModule):
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
