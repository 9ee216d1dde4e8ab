"""Dropout that may draw from a random generator of its own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

_STEPS = 2**16


class SeededDropout(nn.Dropout):
    """:class:`torch.nn.Dropout` that draws from ``generator`` where it has one.

    A network whose dropout is repeatable need not seed the generator that everybody draws from. With numpy's generator,
    which on the CPU is many times faster than torch's, ``p`` is rounded to a multiple of 2**-16.

    Parameters
    ----------
    p : float
        Probability that an element becomes zero.

    Attributes
    ----------
    generator : numpy.random.Generator, torch.Generator of the input's device or None
        Where it draws from; None is torch's own.

    Examples
    --------
    >>> import numpy as np, torch
    >>> dropout, ones = SeededDropout(0.5), torch.ones(100)
    >>> dropout.generator = np.random.default_rng(0)
    >>> first = dropout(ones)
    >>> dropout.generator = np.random.default_rng(0)
    >>> bool((dropout(ones) == first).all())
    True
    """

    generator: np.random.Generator | torch.Generator | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Drop elements while training.

        Parameters
        ----------
        input : Tensor of any shape
            The elements.

        Returns
        -------
        Tensor of the same shape
            Zeros, and the others times ``1 / (1 - p)``; the input itself out of training.
        """
        if self.generator is None or not self.training or self.p == 0.0:
            return super().forward(input)
        if isinstance(self.generator, torch.Generator):
            kept = torch.empty_like(input, requires_grad=False).bernoulli_(1 - self.p, generator=self.generator)
        else:
            draws = self.generator.integers(_STEPS, size=tuple(input.shape), dtype=np.uint16)
            kept = torch.from_numpy(draws >= round(self.p * _STEPS)).to(input)
        return input * kept.div_(1 - self.p) if self.p < 1 else input * kept
