"""Rows of an ordinary matrix to batches of tensors, which stay as narrow as the matrix is."""

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

    values: Tensor  # (n_rows, n_columns): the rows, of the dtype that they came in
    row_weights: Tensor | None = None  # (n_rows,): how much each row counts in the loss; None is one each

    def __len__(self) -> int:
        return len(self.values)

    def to(self, device: torch.device | str) -> DenseBatch:
        """Copy to a device; nothing is copied that is there."""
        return DenseBatch(self.values.to(device), None if self.row_weights is None else self.row_weights.to(device))


class DenseDataset(Dataset):
    """Rows of a matrix with their targets, handed out many at a time."""

    def __init__(
        self,
        matrix: NDArray[Any],
        targets: NDArray[Any] | None = None,
        row_weights: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(len(matrix), targets, row_weights)
        self.matrix = matrix

    @property
    def n_values(self) -> int:
        """How many numbers the rows hold."""
        return self.matrix.size

    def select(self, rows: NDArray[np.int64]) -> DenseDataset:
        """Make a set of some of the rows."""
        weights = None if self.row_weights is None else self.row_weights[rows]
        return DenseDataset(self.matrix[rows], self.targets[rows], weights)

    def take(self, rows: NDArray[np.int64] | slice) -> tuple[DenseBatch, Tensor]:
        """Gather rows."""
        values = as_tensor(np.ascontiguousarray(self.matrix[rows]))
        weights = None if self.row_weights is None else as_tensor(self.row_weights[rows])
        return DenseBatch(values, weights), as_tensor(self.targets[rows])


class DenseBatches(Batches):
    """Go through the rows of a :class:`DenseDataset` once, batch by batch."""

    dataset: DenseDataset  # the rows
    _there: tuple[DenseBatch, Tensor] | None = None

    def __iter__(self) -> Iterator[tuple[DenseBatch, Tensor]]:
        if self.device.type == "cpu":
            yield from super().__iter__()
            return
        if self._there is None:
            batch, targets = self.dataset.take(slice(0, len(self.dataset)))
            self._there = batch.to(self.device), targets.to(self.device)
        everything, all_targets = self._there
        order = torch.from_numpy(self._order()).to(self.device)
        for part in self.parts():
            rows = order[part]
            weights = None if everything.row_weights is None else everything.row_weights[rows]
            yield DenseBatch(everything.values[rows], weights), all_targets[rows]
