"""Rows of any kind, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.estimators._labelled_rows import LabelledRows


class RowBatches:
    """Go through rows once, batch by batch."""

    def __init__(
        self,
        dataset: LabelledRows,
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
        """Return which rows, in their order, make up each batch."""
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
