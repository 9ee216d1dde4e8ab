"""Sparse rows as a dataset, in batches, and copied to a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels._rows import gather_rows
from sklearn_hashnlp.training._batches import Batches, Dataset, as_tensor

_BATCHES_PER_GATHER = 64  # enough to keep a device busy, and few enough for its memory


@dataclass(frozen=True)
class SparseBatch:
    """Some documents, each a list of weighted feature ids."""

    ids: Tensor  # (n_values,): feature ids, document after document
    offsets: Tensor  # (n_documents + 1,): the start of each document, and the end of the last
    weights: Tensor  # (n_values,): weight of each feature
    row_weights: Tensor | None = None  # (n_documents,): weights in the loss; None is one each

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to(self, device: torch.device | str) -> SparseBatch:
        """Copy to a device, unless it is there already."""
        if str(self.ids.device) == str(device):
            return self
        row_weights = None if self.row_weights is None else self.row_weights.to(device)
        return SparseBatch(
            self.ids.to(device), self.offsets.to(device), self.weights.to(device), row_weights
        )


class SparseDataset(SparseRows, Dataset):
    """Sparse rows, read batch by batch."""

    @classmethod
    def of(cls, rows: SparseRows) -> SparseDataset:
        """Return rows as a dataset, which shares their arrays."""
        dataset = cls.__new__(cls)
        dataset.__dict__.update(rows.__dict__)
        return dataset

    def take(
        self,
        rows: NDArray[np.int64] | slice,
        *,
        dropout: tuple[int, int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> tuple[SparseBatch, Tensor]:
        """Return rows as a batch with targets; dropout keeps a random number of columns per row."""
        if isinstance(rows, slice):
            offsets = self.indptr[rows.start : rows.stop + 1].astype(np.int64)
            ids = self.indices[offsets[0] : offsets[-1]].astype(np.int64, copy=False)
            weights = self.data[offsets[0] : offsets[-1]].astype(np.float32, copy=False)
            offsets -= offsets[0]
        else:
            ids, weights, offsets = gather_rows(
                self.indices, self.data, self.indptr, rows, index_dtype=np.int64
            )
        if dropout is not None and generator is not None:
            keep, offsets = _sample_columns(offsets, dropout, generator)
            ids, weights = ids[keep], weights[keep]
        row_weights = None if self.row_weights is None else as_tensor(self.row_weights[rows])
        batch = SparseBatch(as_tensor(ids), as_tensor(offsets), as_tensor(weights), row_weights)
        return batch, as_tensor(self.targets[rows])


def _sample_columns(
    offsets: NDArray[np.int64], dropout: tuple[int, int], generator: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return a mask of the values that are kept, and the new offsets."""
    lengths = np.diff(offsets)
    limits = np.minimum(generator.integers(dropout[0], dropout[1] + 1, size=len(lengths)), lengths)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    # A random order within each row; its first `limit` values are a sample without replacement.
    order = np.argsort(row_of + generator.random(offsets[-1]))
    keep = np.empty(offsets[-1], dtype=np.bool_)
    keep[order] = np.arange(offsets[-1]) - offsets[row_of] < limits[row_of]
    return keep, np.concatenate(([0], np.cumsum(limits)))


class SparseBatches(Batches):
    """Iterate over a :class:`SparseDataset` by batches; ``max_values`` splits long ones."""

    dataset: SparseDataset

    def __init__(
        self,
        dataset: SparseDataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        max_values: int | None = None,
        dropout: tuple[int, int] | None = None,
        smallest: int = 1,
        generator: np.random.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(
            dataset,
            batch_size,
            shuffle=shuffle,
            smallest=smallest,
            generator=generator,
            device=device,
        )
        self.max_values = max_values
        self.dropout = dropout
        self._on_device: DeviceDataset | None = None

    def __iter__(self) -> Iterator[tuple[SparseBatch, Tensor]]:
        order = self._order()
        if self.device.type != "cpu":
            if self._on_device is None:
                self._on_device = DeviceDataset(self.dataset, self.device)
            yield from self._on_device.batches(
                order, self._edges(), dropout=self.dropout, generator=self.generator
            )
            return
        for part in self.parts():
            rows = order[part] if self.shuffle else part
            yield self.dataset.take(rows, dropout=self.dropout, generator=self.generator)

    def _edges(self) -> list[int]:
        edges = super()._edges()
        return edges if self.max_values is None else self._split(edges, self.max_values)

    def _split(self, edges: list[int], max_values: int) -> list[int]:
        indptr = self.dataset.indptr
        split = edges[:1]
        for edge in edges[1:]:
            while indptr[edge] - indptr[split[-1]] > max_values and edge - split[-1] > 1:
                fits = (
                    int(np.searchsorted(indptr, int(indptr[split[-1]]) + max_values, side="right"))
                    - 1
                )
                split.append(max(fits, split[-1] + 1))
            split.append(edge)
        return split


class DeviceDataset:
    """Rows with their targets, copied to a device once, and gathered there."""

    def __init__(self, rows: SparseDataset, device: torch.device) -> None:
        self.indptr: NDArray[np.int64] = rows.indptr.astype(np.int64)
        self.device = device
        self._starts = torch.from_numpy(self.indptr).to(device)
        self._indices = torch.tensor(rows.indices, device=device)
        self._data = torch.tensor(rows.data, device=device, dtype=torch.float32)
        self._targets = torch.tensor(rows.targets, device=device)
        self._row_weights = (
            None if rows.row_weights is None else torch.tensor(rows.row_weights, device=device)
        )

    def batches(
        self,
        order: NDArray[np.int64],
        edges: list[int],
        *,
        dropout: tuple[int, int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> Iterator[tuple[SparseBatch, Tensor]]:
        """Iterate over the rows in some order, in batches between edges."""
        lengths = np.diff(self.indptr)[order]
        n_kept, draws = lengths, None
        if dropout is not None and generator is not None:
            n_kept = np.minimum(
                generator.integers(dropout[0], dropout[1] + 1, size=len(order)), lengths
            )
            draws = torch.Generator(self.device).manual_seed(int(generator.integers(2**63)))
        ends = np.concatenate(([0], np.cumsum(n_kept)))  # of the rows, in their order
        device_order = torch.from_numpy(order).to(self.device)
        device_n_kept = torch.from_numpy(n_kept).to(self.device)
        for first in range(0, len(edges) - 1, _BATCHES_PER_GATHER):
            block = edges[first : first + _BATCHES_PER_GATHER + 1]
            within = slice(block[0], block[-1])
            rows = device_order[within]
            indices, offsets = self._value_indices(rows, int(lengths[within].sum()))
            if draws is not None:
                total = int(ends[block[-1]] - ends[block[0]])
                indices, offsets = _sample_columns_on_device(
                    indices, offsets, device_n_kept[within], total, draws
                )
            ids, weights = self._indices[indices].to(torch.int64), self._data[indices]
            targets = self._targets[rows]
            row_weights = None if self._row_weights is None else self._row_weights[rows]
            for start, stop in pairwise(block):
                values = slice(int(ends[start] - ends[block[0]]), int(ends[stop] - ends[block[0]]))
                part = slice(start - block[0], stop - block[0])
                batch = SparseBatch(
                    ids[values],
                    offsets[part.start : part.stop + 1] - values.start,
                    weights[values],
                    None if row_weights is None else row_weights[part],
                )
                yield batch, targets[part]

    def _value_indices(self, rows: Tensor, n_values: int) -> tuple[Tensor, Tensor]:
        starts = self._starts[rows]
        return _concatenate_ranges(starts, self._starts[rows + 1] - starts, n_values)


def _concatenate_ranges(starts: Tensor, lengths: Tensor, n_values: int) -> tuple[Tensor, Tensor]:
    """Concatenate the indices ``starts[i] .. starts[i] + lengths[i]``; return offsets too."""
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    shifts = torch.repeat_interleave(starts - offsets[:-1], lengths, output_size=n_values)
    return shifts + torch.arange(n_values, device=starts.device), offsets


def _sample_columns_on_device(
    indices: Tensor, offsets: Tensor, n_kept: Tensor, total: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return the value indices that are kept, ``n_kept`` of each row, and the new offsets."""
    n_values, n_rows = len(indices), len(n_kept)
    row_of = torch.repeat_interleave(
        torch.arange(n_rows, device=indices.device), offsets.diff(), output_size=n_values
    )
    keys = row_of + torch.rand(
        n_values, generator=generator, device=indices.device, dtype=torch.float64
    )
    # A random order within each row; its first `n_kept` values are a sample without replacement.
    chosen, kept_offsets = _concatenate_ranges(offsets[:-1], n_kept, total)
    return indices[keys.argsort()[chosen].sort().values], kept_offsets
