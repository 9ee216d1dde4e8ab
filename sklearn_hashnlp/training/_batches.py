"""Datasets, batches and the validation split."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from skorch.dataset import Dataset as SkorchDataset
from torch import Tensor

from sklearn_hashnlp._sklearn import level_of_user


class Dataset(SkorchDataset):  # type: ignore[misc]  # skorch has no types
    """Rows with their targets, gathered many at a time."""

    def __init__(self, n_rows: int, targets: NDArray[Any] | None, row_weights: NDArray[np.float32] | None) -> None:
        self.targets = np.zeros(n_rows, dtype=np.int64) if targets is None else targets
        self.row_weights = row_weights

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def X(self) -> Self:  # noqa: N802 - skorch's name
        """The rows, for a net to predict: this set."""
        return self

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        return self.targets

    @abstractmethod
    def select(self, rows: NDArray[np.int64]) -> Self:
        """Make a set of some of the rows."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64] | slice) -> tuple[Any, Tensor]:
        """Gather rows."""


def as_tensor(array: NDArray[Any]) -> Tensor:
    """Return an array as a tensor; read-only memory, which torch does not know, is copied."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


class Batches:
    """Batches of the rows of a dataset, in an order of their own in each epoch."""

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        smallest: int = 1,
        generator: np.random.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.smallest = smallest
        self.generator = generator
        self.device = torch.device(device)

    def __len__(self) -> int:
        return len(self._edges()) - 1

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        order = self._order()
        for part in self.parts():
            yield self.dataset.take(order[part] if self.shuffle else part)

    def parts(self) -> list[slice]:
        """Return the rows of each batch, as slices of the order."""
        return [slice(start, stop) for start, stop in pairwise(self._edges())]

    def _order(self) -> NDArray[np.int64]:
        order = np.arange(len(self.dataset))
        if self.shuffle and self.generator is not None:
            self.generator.shuffle(order)
        return order

    def _edges(self) -> list[int]:
        n_rows = len(self.dataset)
        edges = [*range(0, n_rows, self.batch_size), n_rows]
        if len(edges) > 2 and edges[-1] - edges[-2] < self.smallest:
            del edges[-2]
        return edges


Rows = TypeVar("Rows", bound=Dataset)

_MIN_VALIDATION_ROWS = 20  # accuracy on fewer rows says next to nothing


def validation_split(rows: Rows, fraction: float, *, seed: int, caller: str) -> tuple[Rows, Rows | None]:
    """Split off a validation set, stratified by class if a row has one; or none, with a warning, where rows are few.

    The row of a class that has no other is not held out.
    """
    indices, stratify, n_classes = np.arange(len(rows)), None, 1
    if rows.targets.ndim == 1:
        counts = np.bincount(rows.targets)
        indices = np.flatnonzero(counts[rows.targets] > 1)
        stratify, n_classes = rows.targets[indices], int(np.count_nonzero(counts > 1))
    n_valid = int(np.ceil(fraction * len(indices)))
    fewest = max(_MIN_VALIDATION_ROWS, n_classes)  # stratification wants a row of each class on both sides
    if n_valid < fewest or len(indices) - n_valid < n_classes:
        if fraction:
            warnings.warn(
                f"{caller}: early_stopping has no effect, because {len(rows):,} rows are too few for a validation set "
                f"of validation_fraction={fraction:g}: it needs at least {fewest:,} rows, and rows of all labels on "
                "both sides. Change validation_fraction, pass more rows, or set early_stopping=False.",
                stacklevel=level_of_user(),
            )
        return rows, None
    _, valid = train_test_split(indices, test_size=n_valid, stratify=stratify, random_state=seed)
    train = np.setdiff1d(np.arange(len(rows)), valid)
    return rows.select(train), rows.select(np.sort(valid))
