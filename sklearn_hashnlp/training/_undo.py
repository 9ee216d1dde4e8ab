"""Undo the changes of a training; of tables only the changed rows are stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.optim._rowwise_optimizer import coalesced


class UndoLog:
    """The previous values of a table's changed rows."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._seen: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)  # lazily allocated by the system
        self._entries: list[tuple[Tensor, Tensor]] = []

    def note(self, rows: Tensor) -> None:
        """Copy rows before they are written."""
        indices = rows.cpu().numpy()
        new = indices[~self._seen[indices]]
        if len(new):
            self._seen[new] = True
            written = torch.from_numpy(new).to(self.table.device)
            self._entries.append((written, self.table.detach()[written]))

    def clear(self) -> None:
        """Make the current values those to restore."""
        for rows, _ in self._entries:
            self._seen[rows.cpu().numpy()] = False
        self._entries = []

    def undo(self) -> None:
        """Restore the previous values."""
        with torch.no_grad():
            for rows, values in self._entries:
                self.table[rows] = values
        self.clear()


class UndoSteps(Callback):  # type: ignore[misc]  # skorch has no types
    """Log the weights and the optimizer state before each step."""

    def __init__(self) -> None:
        self._logs: dict[int, UndoLog] = {}

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Log the rows that have a gradient."""
        for parameter in net.module_.parameters():
            if parameter.grad is None:
                continue
            if parameter.grad.is_sparse:
                parameter.grad = coalesced(parameter.grad)  # required by the optimizer as well
                rows = parameter.grad.indices()[0]
            else:
                rows = torch.arange(len(parameter))
            for tensor in (parameter, *net.optimizer_.state[parameter].values()):
                if isinstance(tensor, Tensor):
                    self._logs.setdefault(id(tensor), UndoLog(tensor)).note(rows)

    def undo(self) -> None:
        """Restore the previous values."""
        for log in self._logs.values():
            log.undo()


@contextmanager
def undone_on_error(net: Any) -> Iterator[UndoSteps]:
    """Undo further training of a net on an error; the callback must be passed to the training."""
    steps, before = UndoSteps(), (net.optimizer_, net.was_trained)
    try:
        yield steps
    except BaseException:
        steps.undo()
        net.optimizer_, net.was_trained = before
        raise
