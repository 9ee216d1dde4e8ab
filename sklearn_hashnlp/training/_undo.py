"""Undo what a training has written: of tables only the rows that it wrote."""

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
    """The values of a table's rows from before they were written."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._seen: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)  # zero pages: no cost until written
        self._entries: list[tuple[Tensor, Tensor]] = []

    def note(self, rows: Tensor) -> None:
        """Copy rows that are about to be written."""
        indices = rows.cpu().numpy()
        new = indices[~self._seen[indices]]
        if len(new):
            self._seen[new] = True
            written = torch.from_numpy(new).to(self.table.device)
            self._entries.append((written, self.table.detach()[written]))

    def clear(self) -> None:
        """Take the table as it is for the state to return to."""
        for rows, _ in self._entries:
            self._seen[rows.cpu().numpy()] = False
        self._entries = []

    def undo(self) -> None:
        """Write the old values back."""
        with torch.no_grad():
            for rows, values in self._entries:
                self.table[rows] = values
        self.clear()


class UndoSteps(Callback):  # type: ignore[misc]  # skorch has no types
    """Log what the optimizer is about to write: weights and its own state."""

    def __init__(self) -> None:
        self._logs: dict[int, UndoLog] = {}

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Log the rows that have a gradient."""
        for parameter in net.module_.parameters():
            if parameter.grad is None:
                continue
            if parameter.grad.is_sparse:
                parameter.grad = coalesced(parameter.grad)  # the optimizer needs it so, too
                rows = parameter.grad.indices()[0]
            else:
                rows = torch.arange(len(parameter))
            for tensor in (parameter, *net.optimizer_.state[parameter].values()):
                if isinstance(tensor, Tensor):
                    self._logs.setdefault(id(tensor), UndoLog(tensor)).note(rows)

    def undo(self) -> None:
        """Write the old values back."""
        for log in self._logs.values():
            log.undo()


@contextmanager
def undone_on_error(net: Any) -> Iterator[UndoSteps]:
    """Undo a further training of a net if it raises an error; the callback must be among those of the training."""
    steps, before = UndoSteps(), (net.optimizer_, net.was_trained)
    try:
        yield steps
    except BaseException:
        steps.undo()
        net.optimizer_, net.was_trained = before
        raise
