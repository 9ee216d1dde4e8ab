"""Early stopping that remembers the best epoch by its touched rows only."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.optim._rowwise_optimizer import coalesced
from sklearn_hashnlp.training._checkpoints import read_checkpoint, write_checkpoint
from sklearn_hashnlp.training._state import RowModule

FILE_NAME = "best_weights.safetensors"


class UndoLog:
    """What a table held, for the rows that were written since."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._seen: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)  # zero pages: no cost until written
        self._entries: list[tuple[Tensor, Tensor]] = []

    def note(self, rows: Tensor) -> None:
        """Remember rows that are about to be written."""
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


class EarlyStopping(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop when validation has not improved for some epochs, and end with the weights of the best epoch."""

    def __init__(
        self, patience: int | None, monitor: str = "valid_acc", *, restore: bool = True, folder: str | None = None
    ) -> None:
        self.patience = patience
        self.monitor = monitor
        self.restore = restore
        self.folder = folder

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Start afresh."""
        self.best_epoch_ = 0
        self._best_score = -np.inf
        self._journals: dict[str, UndoLog] = {}
        self._copies: dict[str, Tensor] = {}
        self._file = None if self.folder is None else Path(self.folder, f"best_weights-{token_hex(8)}.safetensors")

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Remember the rows that the optimiser is about to write."""
        if not self._copies:
            return  # nothing to return to, or it is on the disk
        for name, parameter in net.module_.named_parameters():
            if parameter.grad is not None and name not in self._copies:
                parameter.grad = coalesced(parameter.grad)  # the optimiser needs it so, too
                journal = self._journals.setdefault(name, UndoLog(parameter))
                journal.note(parameter.grad.indices()[0])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the best epoch."""
        score, epoch = net.history[-1, self.monitor], net.history[-1, "epoch"]
        score = -score if lower_is_better(self.monitor) else score
        if score > self._best_score:
            self._best_score, self.best_epoch_ = score, epoch
            self._keep(net.module_)
        elif self.patience is not None and epoch - self.best_epoch_ >= self.patience:
            raise KeyboardInterrupt  # skorch's way to end training in good order

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Return to the best epoch."""
        if self.best_epoch_ and self.restore:
            self._restore(net.module_)
        if self.best_epoch_ and self._file is not None:
            self._file.replace(self._file.with_name(FILE_NAME))
        self._journals, self._copies = {}, {}

    def _keep(self, module: RowModule) -> None:
        if self._file is not None:
            write_checkpoint(self._file, module.to_arrays())
        elif self.restore:
            for journal in self._journals.values():
                journal.forget()
            tables = {name for name, table in module.tables().items() if table.device.type == "cpu"}
            state = module.state_dict()
            self._copies = {name: value.clone() for name, value in state.items() if name not in tables}

    def _restore(self, module: RowModule) -> None:
        if self._file is not None:
            module.clear_tables()
            module.load_arrays(read_checkpoint(self._file))
            return
        for journal in self._journals.values():
            journal.undo()
        state = module.state_dict()  # shares memory with the module
        with torch.no_grad():
            for name, value in self._copies.items():
                state[name].copy_(value)


def lower_is_better(monitor: str) -> bool:
    """Return whether less of a measure is better."""
    return monitor == "valid_loss"
