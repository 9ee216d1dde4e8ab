"""Dropout that may draw from a random generator of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SeededDropout(nn.Dropout):
    """:class:`torch.nn.Dropout` that draws from ``generator`` where it has one.

    A network whose dropout is repeatable need not seed the generator that everybody draws from.

    Parameters
    ----------
    p : float
        Probability that an element becomes zero.

    Attributes
    ----------
    generator : torch.Generator or None
        Where it draws from, of the input's device; None is torch's own.

    Examples
    --------
    >>> import torch
    >>> dropout, ones = SeededDropout(0.5), torch.ones(100)
    >>> dropout.generator = torch.Generator().manual_seed(0)
    >>> first = dropout(ones)
    >>> dropout.generator.manual_seed(0)
    <torch...Generator ...>
    >>> bool((dropout(ones) == first).all())
    True
    """

    generator: torch.Generator | None = None

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
        kept = torch.empty_like(input, requires_grad=False).bernoulli_(1 - self.p, generator=self.generator)
        return input * kept.div_(1 - self.p) if self.p < 1 else input * kept
