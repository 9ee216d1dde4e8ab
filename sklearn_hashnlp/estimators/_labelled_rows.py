"""Rows with what a net aims at in each, of whatever kind."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.dataset import Dataset
from torch import Tensor


class LabelledRows(Dataset):  # type: ignore[misc]  # skorch has no types
    """Rows with their targets, handed out many at a time."""

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

    @property
    @abstractmethod
    def n_values(self) -> int:
        """How many numbers the rows hold."""

    @abstractmethod
    def select(self, rows: NDArray[np.int64]) -> Self:
        """Make a set of some of the rows."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64] | slice) -> tuple[Any, Tensor]:
        """Gather rows."""


def as_tensor(array: NDArray[Any]) -> Tensor:
    """Return an array to torch, which knows no read-only memory."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())
