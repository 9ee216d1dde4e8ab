"""Layers whose results do not depend on the number of threads or on torch's generator."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class SteadyLinear(nn.Linear):
    """A linear layer that, on the CPU and not in training, gives a row the same bytes whatever rows come with it."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Multiply and add."""
        if self.training or input.device.type != "cpu":
            return super().forward(input)
        bias = None if self.bias is None else self.bias.double()
        return functional.linear(input.double(), self.weight.double(), bias).to(input.dtype)


_STEPS = 2**16


class SeededDropout(nn.Dropout):
    """:class:`torch.nn.Dropout` that draws from ``generator`` where it has one."""

    generator: np.random.Generator | torch.Generator | None = None  # where it draws from; None is torch's own

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Drop elements while training."""
        if self.generator is None or not self.training or self.p == 0.0:
            return super().forward(input)
        if isinstance(self.generator, torch.Generator):
            kept = torch.empty_like(input, requires_grad=False).bernoulli_(1 - self.p, generator=self.generator)
        else:
            draws = self.generator.integers(_STEPS, size=tuple(input.shape), dtype=np.uint16)
            kept = torch.from_numpy(draws >= round(self.p * _STEPS)).to(input)
        return input * kept.div_(1 - self.p) if self.p < 1 else input * kept
