"""What the losses that draw together the vectors of a block have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class BlockLoss(nn.Module, ABC):
    """A loss that is low where unit vectors are near those of their own block and far from the others."""

    def forward(self, vectors: Tensor, blocks: Tensor) -> Tensor:
        """Compute the loss.

        Parameters
        ----------
        vectors : Tensor of shape (n, d)
            Unit rows; they are not scaled here.
        blocks : Tensor of shape (n,), dtype int64
            The block of each, such as a sentence's paragraph: any numbers, in any order.

        Returns
        -------
        Tensor of shape ()
            The loss.

        Raises
        ------
        ValueError
            If there are no vectors, or not as many as blocks.
        """
        if vectors.dim() != 2 or not len(vectors) or blocks.shape != vectors.shape[:1]:
            raise ValueError(
                f"{type(self).__name__}: vectors must have shape (n, d) with n of 1 or more, and blocks shape (n,), "
                f"got {tuple(vectors.shape)} and {tuple(blocks.shape)}."
            )
        if vectors.dtype != torch.float64:
            vectors = vectors.float()
        with torch.autocast(vectors.device.type, enabled=False):
            return self._loss(vectors, blocks.unsqueeze(1) == blocks)

    @abstractmethod
    def _loss(self, vectors: Tensor, same: Tensor) -> Tensor:
        """Compute the loss, given for each pair of vectors whether their block is the same."""


def mean_where(values: Tensor, chosen: Tensor) -> Tensor:
    """Take the mean of some elements."""
    return values.masked_fill(~chosen, 0.0).sum() / chosen.sum().clamp(min=1)


def other_pairs(
    same: Tensor,  # (n, n)
) -> Tensor:  # (n, n)
    """Leave out of the pairs of one block those of a vector with itself."""
    return same ^ torch.eye(len(same), dtype=torch.bool, device=same.device)
