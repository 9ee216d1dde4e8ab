"""A skorch dataset of word windows, and its batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.dataset import Dataset
from torch import Tensor

from sklearn_hashnlp.language._windows import WordWindows


class WindowDataset(Dataset):  # type: ignore[misc]  # skorch has no types
    """Word windows as a dataset; skorch passes ``y=None``."""

    def __init__(self, X: WordWindows, y: None = None) -> None:
        self.X = X

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = range(len(self))[index]  # supports negative indices and raises IndexError
        context, target = self.take(np.array([row]))
        return context[0], target[0]

    @property
    def y(self) -> NDArray[np.int32]:
        """Ids of the words to predict, of shape (n_windows,)."""
        return self.X.y

    def take(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Gather the contexts and targets of some windows as tensors."""
        context, target = self.X.take(rows)
        return torch.from_numpy(context), torch.from_numpy(target)


class WindowBatches:
    """Iterate over the batches of an epoch, on the device of the net."""

    def __init__(
        self,
        dataset: WindowDataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        generator: np.random.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.generator = generator
        self.device = torch.device(device)
        self._on_device: tuple[Tensor, Tensor, Tensor, Tensor | None] | None = None

    def __len__(self) -> int:
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        order = np.arange(len(self.dataset))
        if self.shuffle and self.generator is not None:
            self.generator.shuffle(order)
        if self.device.type != "cpu":
            yield from self._gather_on_device(order)
            return
        for start in range(0, len(order), self.batch_size):
            yield self.dataset.take(order[start : start + self.batch_size])

    def _gather_on_device(self, order: NDArray[np.int64]) -> Iterator[tuple[Tensor, Tensor]]:
        windows = self.dataset.X
        if self._on_device is None:
            inputs = torch.from_numpy(windows.inputs).to(self.device)
            targets = inputs if windows.targets is windows.inputs else torch.from_numpy(windows.targets).to(self.device)
            codes = None if windows.codes is None else torch.from_numpy(windows.codes).to(self.device)
            self._on_device = inputs, targets, torch.from_numpy(windows.positions).to(self.device), codes
        inputs, targets, positions, codes = self._on_device
        positions = positions[torch.from_numpy(order).to(self.device)].long()
        back = torch.arange(-windows.n_context, 0, device=self.device)
        for start in range(0, len(order), self.batch_size):
            ends = positions[start : start + self.batch_size]
            context = inputs[ends.unsqueeze(1) + back].long()
            if windows.far.n_words and not windows.far.across_sentences:
                is_before_start = (context == windows.start).flip(1).cumsum(1).flip(1) > 0
                context.masked_fill_(is_before_start, windows.start)
            yield context if codes is None else codes[context], targets[ends].long()
