"""Dense rows: dataset and batches of tensors, in the dtype of the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.training._batches import Batches, Dataset, as_tensor


@dataclass(frozen=True)
class DenseBatch:
    """Some rows as tensors."""

    values: Tensor  # (n_rows, n_columns): in the dtype of the matrix
    row_weights: Tensor | None = None  # (n_rows,): weights in the loss; None is one each

    def __len__(self) -> int:
        return len(self.values)

    def to(self, device: torch.device | str) -> DenseBatch:
        """Copy to a device, unless it is there already."""
        return DenseBatch(self.values.to(device), None if self.row_weights is None else self.row_weights.to(device))


class DenseDataset(Dataset):
    """Rows of a matrix with their targets, read batch by batch."""

    def __init__(
        self,
        matrix: NDArray[Any],
        targets: NDArray[Any] | None = None,
        row_weights: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(len(matrix), targets, row_weights)
        self.matrix = matrix

    def select(self, rows: NDArray[np.int64]) -> DenseDataset:
        """Return a dataset of some of the rows."""
        weights = None if self.row_weights is None else self.row_weights[rows]
        return DenseDataset(self.matrix[rows], self.targets[rows], weights)

    def take(self, rows: NDArray[np.int64] | slice) -> tuple[DenseBatch, Tensor]:
        """Return some rows as a batch, and their targets."""
        values = as_tensor(np.ascontiguousarray(self.matrix[rows]))
        weights = None if self.row_weights is None else as_tensor(self.row_weights[rows])
        return DenseBatch(values, weights), as_tensor(self.targets[rows])


class DenseBatches(Batches):
    """Iterate over the rows of a :class:`DenseDataset`, batch by batch."""

    dataset: DenseDataset
    _on_device: tuple[DenseBatch, Tensor] | None = None

    def __iter__(self) -> Iterator[tuple[DenseBatch, Tensor]]:
        if self.device.type == "cpu":
            yield from super().__iter__()
            return
        if self._on_device is None:
            batch, targets = self.dataset.take(slice(0, len(self.dataset)))
            self._on_device = batch.to(self.device), targets.to(self.device)
        all_rows, all_targets = self._on_device
        order = torch.from_numpy(self._order()).to(self.device)
        for part in self.parts():
            rows = order[part]
            weights = None if all_rows.row_weights is None else all_rows.row_weights[rows]
            yield DenseBatch(all_rows.values[rows], weights), all_targets[rows]
