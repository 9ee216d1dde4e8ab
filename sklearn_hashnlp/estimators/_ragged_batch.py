"""Some documents as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RaggedBatch:
    """Some documents, each a run of weighted feature ids."""

    ids: Tensor  # (n_values,): feature ids, document after document
    offsets: Tensor  # (n_documents + 1,): where each document begins, and after the last where it ends
    weights: Tensor  # (n_values,): weight of each feature
    row_weights: Tensor | None = None  # (n_documents,): how much each document counts in the loss; None is one each

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to(self, device: torch.device | str) -> RaggedBatch:
        """Copy to a device; nothing is copied that is there."""
        if self.ids.device == torch.device(device):
            return self
        row_weights = None if self.row_weights is None else self.row_weights.to(device)
        return RaggedBatch(self.ids.to(device), self.offsets.to(device), self.weights.to(device), row_weights)
