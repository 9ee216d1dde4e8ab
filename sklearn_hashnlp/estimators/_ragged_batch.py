"""Some documents as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RaggedBatch:
    """Some documents, each a run of weighted feature ids.

    Parameters
    ----------
    ids : Tensor of shape (n_values,), dtype int64
        Feature ids, document after document.
    offsets : Tensor of shape (n_documents + 1,), dtype int64
        Where each document begins, and after the last where it ends.
    weights : Tensor of shape (n_values,), dtype float32
        Weight of each feature.
    row_weights : Tensor of shape (n_documents,), dtype float32, or None
        How much each document counts in the loss; None is one each.
    """

    ids: Tensor
    offsets: Tensor
    weights: Tensor
    row_weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to(self, device: torch.device | str) -> RaggedBatch:
        """Copy to a device; nothing is copied that is there.

        Parameters
        ----------
        device : torch.device or str
            Where to.

        Returns
        -------
        RaggedBatch
            The batch there.
        """
        if self.ids.device == torch.device(device):
            return self
        row_weights = None if self.row_weights is None else self.row_weights.to(device)
        return RaggedBatch(self.ids.to(device), self.offsets.to(device), self.weights.to(device), row_weights)
