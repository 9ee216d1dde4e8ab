"""Early stopping that remembers the best epoch by its touched rows only."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor, nn


class RowJournal:
    """What a table held, for the rows that were written since.

    Parameters
    ----------
    table : Tensor of shape (n_rows, n_columns)
        The table to watch.

    Examples
    --------
    >>> import torch
    >>> table = torch.zeros(4, 2)
    >>> journal = RowJournal(table)
    >>> journal.note(torch.tensor([2]))
    >>> table[2] = 7
    >>> journal.undo()
    >>> table.any().item()
    False
    """

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._seen: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)  # zero pages: no cost until written
        self._entries: list[tuple[Tensor, Tensor]] = []

    def note(self, rows: Tensor) -> None:
        """Remember rows that are about to be written.

        Parameters
        ----------
        rows : Tensor of shape (n,), dtype int64
            Distinct row numbers.
        """
        numbers = rows.cpu().numpy()
        new = numbers[~self._seen[numbers]]
        if len(new):
            self._seen[new] = True
            places = torch.from_numpy(new).to(self.table.device)
            self._entries.append((places, self.table.detach()[places]))

    def forget(self) -> None:
        """Take the table as it is for the state to return to."""
        for rows, _ in self._entries:
            self._seen[rows.cpu().numpy()] = False
        self._entries = []

    def undo(self) -> None:
        """Put the remembered rows back."""
        with torch.no_grad():
            for rows, values in self._entries:
                self.table[rows] = values
        self.forget()


class StopAtBest(Callback):  # type: ignore[misc]
    """Stop when validation has not improved for some epochs, and end with the weights of the best epoch.

    Tables with sparse gradients are never copied: the first time that a row is written after the best epoch, its value
    is kept. Everything else (the head) is copied whole, being small.

    Parameters
    ----------
    patience : int
        Epochs without improvement after which training stops.
    monitor : str, default="valid_acc"
        Key in skorch's history; higher is better.

    Attributes
    ----------
    best_epoch_ : int
        The epoch whose weights were kept, counted from 1; 0 when none was better than nothing.
    """

    def __init__(self, patience: int, monitor: str = "valid_acc") -> None:
        self.patience = patience
        self.monitor = monitor

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Start afresh."""
        self.best_epoch_ = 0
        self._best_score = -np.inf
        self._journals: dict[str, RowJournal] = {}
        self._copies: dict[str, Tensor] = {}

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Remember the rows that the optimiser is about to write."""
        if not self.best_epoch_:
            return  # nothing to return to yet
        for name, parameter in net.module_.named_parameters():
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()  # the optimiser needs it so, too
                journal = self._journals.setdefault(name, RowJournal(parameter))
                journal.note(parameter.grad.indices()[0])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the best epoch."""
        score, epoch = net.history[-1, self.monitor], net.history[-1, "epoch"]
        if score > self._best_score:
            self._best_score, self.best_epoch_ = score, epoch
            for journal in self._journals.values():
                journal.forget()
            tables = _tables(net.module_)
            state = net.module_.state_dict()
            self._copies = {name: value.clone() for name, value in state.items() if name not in tables}
        elif epoch - self.best_epoch_ >= self.patience:
            raise KeyboardInterrupt  # skorch's way to end training in good order

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Return to the best epoch."""
        if self.best_epoch_:
            for journal in self._journals.values():
                journal.undo()
            state = net.module_.state_dict()  # shares memory with the module
            with torch.no_grad():
                for name, value in self._copies.items():
                    state[name].copy_(value)
        self._journals, self._copies = {}, {}


def _tables(module: nn.Module) -> set[str]:
    return {
        f"{prefix}.{name}" if prefix else name
        for prefix, part in module.named_modules()
        if getattr(part, "sparse", False)
        for name, _ in part.named_parameters(recurse=False)
    }
