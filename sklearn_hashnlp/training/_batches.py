"""Datasets of rows, and their batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.dataset import Dataset as SkorchDataset
from torch import Tensor


class Dataset(SkorchDataset):  # type: ignore[misc]  # skorch has no types
    """A dataset of rows that are gathered as tensors."""

    targets: NDArray[Any]

    @property
    def X(self) -> Self:  # noqa: N802 - skorch's name
        """The rows, as skorch's nets read them."""
        return self

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        return self.targets

    @abstractmethod
    def take(self, rows: NDArray[np.int64] | slice) -> tuple[Any, Tensor]:
        """Gather rows."""

    @abstractmethod
    def on_device(self, device: torch.device) -> Callable[[Tensor], tuple[Any, Tensor]]:
        """Copy all rows to a device, and return the function that gathers rows there."""


def as_tensor(array: NDArray[Any]) -> Tensor:
    """Return an array as a tensor; read-only memory, which torch does not support, is copied."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


class Batches:
    """Iterate over the batches of a dataset, in a new order in each epoch."""

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
        # Set on another device than the CPU
        self._gather: Callable[[Tensor], tuple[Any, Tensor]] | None = None

    def __len__(self) -> int:
        return len(self._edges()) - 1

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        if self.device.type == "cpu":
            order = self._order() if self.shuffle else None
            for part in self.parts():
                yield self.dataset.take(part if order is None else order[part])
            return
        if self._gather is None:
            self._gather = self.dataset.on_device(self.device)
        device_order = torch.from_numpy(self._order()).to(self.device)
        for part in self.parts():
            yield self._gather(device_order[part])

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
