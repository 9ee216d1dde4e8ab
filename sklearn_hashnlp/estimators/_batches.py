"""Sparse rows to batches of ragged tensors: nothing is made dense, and no row is handled alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.dataset import Dataset
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
    """

    ids: Tensor
    offsets: Tensor
    weights: Tensor

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
        return RaggedBatch(self.ids.to(device), self.offsets.to(device), self.weights.to(device))


class RaggedRows(Dataset):  # type: ignore[misc]
    """Rows of a CSR matrix with their targets, handed out many at a time.

    A skorch dataset in name and in ``X`` and ``y``, where skorch's callbacks look for rows and targets.

    Parameters
    ----------
    matrix : scipy.sparse CSR of shape (n_samples, n_features)
        Canonical: sorted columns, no duplicates. Its arrays are kept, not copied.
    targets : ndarray of shape (n_samples,), dtype int64, default=None
        Class numbers; None is all zero.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> rows = RaggedRows(csr_array([[0, 2.0, 1], [0, 0, 0], [3, 0, 0]]))
    >>> batch, _ = rows.take(np.array([2, 0]))
    >>> batch.ids.tolist(), batch.offsets.tolist(), batch.weights.tolist()
    ([0, 1, 2], [0, 1, 3], [3.0, 2.0, 1.0])
    """

    def __init__(self, matrix: Any, targets: NDArray[np.int64] | None = None) -> None:
        self.indices: NDArray[Any] = matrix.indices
        self.indptr: NDArray[Any] = matrix.indptr
        self.data: NDArray[Any] = matrix.data
        self.targets = np.zeros(matrix.shape[0], dtype=np.int64) if targets is None else targets

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def X(self) -> RaggedRows:  # noqa: N802 - skorch's name
        """The rows, for a net to predict: this set."""
        return self

    @property
    def y(self) -> NDArray[np.int64]:
        """Class numbers."""
        return self.targets

    def select(self, rows: NDArray[np.int64]) -> RaggedRows:
        """Make a set of some of the rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,), dtype int64
            Which, in the order wanted.

        Returns
        -------
        RaggedRows
            Copies of them.
        """
        places, offsets = self._places(rows)
        part = RaggedRows.__new__(RaggedRows)
        part.indices, part.data, part.indptr = self.indices[places], self.data[places], offsets
        part.targets = self.targets[rows]
        return part

    def take(
        self,
        rows: NDArray[np.int64],
        *,
        dropout: tuple[int, int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> tuple[RaggedBatch, Tensor]:
        """Gather rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,), dtype int64
            Which, in the order wanted.
        dropout : (int, int), default=None
            Keep of each row a random number of columns between these two, both included, drawn without replacement; a
            row that has no more stays whole.
        generator : numpy.random.Generator, default=None
            For the dropout.

        Returns
        -------
        batch : RaggedBatch
            The rows.
        targets : Tensor of shape (n_rows,), dtype int64
            Their class numbers.
        """
        places, offsets = self._places(rows)
        if dropout is not None and generator is not None:
            kept, offsets = _draw(offsets, dropout, generator)
            places = places[kept]
        batch = RaggedBatch(
            ids=torch.from_numpy(self.indices[places].astype(np.int64)),
            offsets=torch.from_numpy(offsets),
            weights=torch.from_numpy(self.data[places].astype(np.float32)),
        )
        return batch, torch.from_numpy(self.targets[rows])

    def _places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts = self.indptr[rows].astype(np.int64)
        lengths = self.indptr[rows + 1].astype(np.int64) - starts
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1]), offsets


def _draw(
    offsets: NDArray[np.int64], dropout: tuple[int, int], generator: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    lengths = np.diff(offsets)
    limits = np.minimum(generator.integers(dropout[0], dropout[1] + 1, size=len(lengths)), lengths)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    # A random order within each row; its first `limit` values are a draw without replacement.
    order = np.lexsort((generator.random(offsets[-1]), row_of))
    kept = np.empty(offsets[-1], dtype=np.bool_)
    kept[order] = np.arange(offsets[-1]) - offsets[row_of] < limits[row_of]
    return kept, np.concatenate(([0], np.cumsum(limits)))


class RaggedBatches:
    """Go through the rows of a :class:`RaggedRows` once, batch by batch.

    Parameters
    ----------
    dataset : RaggedRows
        The rows.
    batch_size : int
        Rows a batch.
    shuffle : bool, default=False
        Whether every pass has an order of its own.
    most_values : int, default=None
        A batch ends earlier where it would hold more values than these, though not before its first row. Batches that
        end early do not move the others: a multiple of ``batch_size`` rows always ends a batch. Not with ``shuffle``.
    dropout : (int, int), default=None
        As in :meth:`RaggedRows.take`.
    smallest : int, default=1
        A last batch with fewer rows joins the one before: batch normalisation cannot train on a single row.
    generator : numpy.random.Generator, default=None
        For order and dropout.
    """

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
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.most_values = most_values
        self.dropout = dropout
        self.smallest = smallest
        self.generator = generator

    def __len__(self) -> int:
        return len(self._edges()) - 1

    def __iter__(self) -> Iterator[tuple[RaggedBatch, Tensor]]:
        order = np.arange(len(self.dataset))
        if self.shuffle and self.generator is not None:
            self.generator.shuffle(order)
        edges = self._edges()
        for start, stop in pairwise(edges):
            yield self.dataset.take(order[start:stop], dropout=self.dropout, generator=self.generator)

    def _edges(self) -> list[int]:
        n_rows = len(self.dataset)
        edges = [*range(0, n_rows, self.batch_size), n_rows]
        if len(edges) > 2 and edges[-1] - edges[-2] < self.smallest:
            del edges[-2]
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
