"""Dropout that may draw from a random generator of its own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

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
