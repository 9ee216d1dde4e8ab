"""Sparse rows to batches of ragged tensors: nothing is made dense, and no row is handled alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.estimators._device_rows import DeviceRows
from sklearn_hashnlp.estimators._labelled_rows import LabelledRows, as_tensor
from sklearn_hashnlp.estimators._ragged_batch import RaggedBatch
from sklearn_hashnlp.estimators._row_batches import RowBatches
from sklearn_hashnlp.kernels._gather_rows import gather_rows


class RaggedRows(LabelledRows):
    """Rows of a CSR matrix with their targets, handed out many at a time."""

    def __init__(
        self, matrix: Any, targets: NDArray[Any] | None = None, row_weights: NDArray[np.float32] | None = None
    ) -> None:
        self.indices: NDArray[Any] = matrix.indices
        self.indptr: NDArray[Any] = matrix.indptr
        self.data: NDArray[Any] = matrix.data
        super().__init__(matrix.shape[0], targets, row_weights)

    @property
    def n_values(self) -> int:
        """How many numbers the rows hold."""
        return len(self.indices)

    def select(self, rows: NDArray[np.int64]) -> RaggedRows:
        """Make a set of some of the rows."""
        part = RaggedRows.__new__(RaggedRows)
        part.indices, part.data, part.indptr = gather_rows(
            self.indices, self.data, self.indptr, rows, index_dtype=self.indices.dtype
        )
        part.targets = self.targets[rows]
        part.row_weights = None if self.row_weights is None else self.row_weights[rows]
        return part

    def take(
        self,
        rows: NDArray[np.int64] | slice,
        *,
        dropout: tuple[int, int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> tuple[RaggedBatch, Tensor]:
        """Gather rows."""
        if isinstance(rows, slice):
            offsets = self.indptr[rows.start : rows.stop + 1].astype(np.int64)
            ids = self.indices[offsets[0] : offsets[-1]].astype(np.int64, copy=False)
            weights = self.data[offsets[0] : offsets[-1]].astype(np.float32, copy=False)
            offsets -= offsets[0]
        else:
            ids, weights, offsets = gather_rows(self.indices, self.data, self.indptr, rows)
        if dropout is not None and generator is not None:
            kept, offsets = _draw(offsets, dropout, generator)
            ids, weights = ids[kept], weights[kept]
        row_weights = None if self.row_weights is None else as_tensor(self.row_weights[rows])
        batch = RaggedBatch(as_tensor(ids), as_tensor(offsets), as_tensor(weights), row_weights)
        return batch, as_tensor(self.targets[rows])


def _draw(
    offsets: NDArray[np.int64], dropout: tuple[int, int], generator: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    lengths = np.diff(offsets)
    limits = np.minimum(generator.integers(dropout[0], dropout[1] + 1, size=len(lengths)), lengths)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    # A random order within each row; its first `limit` values are a draw without replacement.
    order = np.argsort(row_of + generator.random(offsets[-1]))
    kept = np.empty(offsets[-1], dtype=np.bool_)
    kept[order] = np.arange(offsets[-1]) - offsets[row_of] < limits[row_of]
    return kept, np.concatenate(([0], np.cumsum(limits)))


class RaggedBatches(RowBatches):
    """Go through the rows of a :class:`RaggedRows` once, batch by batch."""

    dataset: RaggedRows  # the rows

    def __init__(
        self,
        dataset: RaggedRows,
        batch_size: int,
        *,
        shuffle: bool = False,
        most_values: int | None = None,
        dropout: tuple[int, int] | None = None,
        smallest: int = 1,
        generator: np.random.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(dataset, batch_size, shuffle=shuffle, smallest=smallest, generator=generator, device=device)
        self.most_values = most_values
        self.dropout = dropout
        self._rows_there: DeviceRows | None = None

    def __iter__(self) -> Iterator[tuple[RaggedBatch, Tensor]]:
        order = self._order()
        if self.device.type != "cpu":
            if self._rows_there is None:
                self._rows_there = DeviceRows(self.dataset, self.device)
            yield from self._rows_there.batches(order, self._edges(), dropout=self.dropout, generator=self.generator)
            return
        for part in self.parts():
            rows = order[part] if self.shuffle else part
            yield self.dataset.take(rows, dropout=self.dropout, generator=self.generator)

    def _edges(self) -> list[int]:
        edges = super()._edges()
        return edges if self.most_values is None else self._cut(edges, self.most_values)

    def _cut(self, edges: list[int], most_values: int) -> list[int]:
        indptr = self.dataset.indptr
        cut = edges[:1]
        for edge in edges[1:]:
            while indptr[edge] - indptr[cut[-1]] > most_values and edge - cut[-1] > 1:
                fits = int(np.searchsorted(indptr, int(indptr[cut[-1]]) + most_values, side="right")) - 1
                cut.append(max(fits, cut[-1] + 1))
            cut.append(edge)
        return cut
