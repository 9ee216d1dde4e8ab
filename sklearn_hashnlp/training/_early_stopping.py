"""The end of a training: by validation, with the best epoch's weights, or by training loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch
from skorch.callbacks import Callback
from torch import Tensor, nn

from sklearn_hashnlp.optim._rowwise_optimizer import coalesced
from sklearn_hashnlp.training._fit_task import StopTraining
from sklearn_hashnlp.training._optimizers import UndoLog

_MIN_STEPS = 100  # between two epochs that are compared
_SMALLEST_FALL = 0.95  # loss of an epoch relative to an earlier one, above which it no longer falls
_VANISHED = 0.01  # loss relative to the first one


@dataclass(eq=False, repr=False)
class EarlyStopping(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop when validation has not improved for some epochs, and restore the best weights."""

    patience: int | None  # number of epochs without improvement; None never stops
    monitor: str = "valid_acc"
    _: KW_ONLY
    restore: bool = True  # whether to restore the best weights
    first_epoch: int = 0  # of the training, in the history of the net
    best_weights: Mapping[str, Tensor] | None = None  # best weights of a resumed training

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start, or resume an interrupted training."""
        scores = [score_of(entry, self.monitor) for entry in net.history[self.first_epoch :]]
        self._best_score = max(scores, default=-math.inf)
        self.best_epoch_ = self.first_epoch + scores.index(self._best_score) + 1 if scores else 0
        self._undo_logs: dict[str, UndoLog] = {}
        self._copies: dict[str, Tensor] = dict(self.best_weights or {})

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Log the rows before the optimizer writes them."""
        if not self._copies:
            return  # no best epoch yet
        for name, parameter in net.module_.named_parameters():
            if parameter.grad is not None and name not in self._copies:
                parameter.grad = coalesced(parameter.grad)  # required by the optimizer as well
                self._undo_logs.setdefault(name, UndoLog(parameter)).note(
                    parameter.grad.indices()[0]
                )

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the best epoch."""
        score, epoch = score_of(net.history[-1], self.monitor), net.history[-1]["epoch"]
        if score > self._best_score:
            self._best_score, self.best_epoch_ = score, epoch
            self._keep(net)
        elif self.patience is not None and epoch - self.best_epoch_ >= self.patience:
            raise StopTraining

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Restore the best epoch."""
        if self.best_epoch_ and self.restore:
            self._restore(net)
        self.release()

    def release(self) -> None:
        """Release the weights of the best epoch."""
        self._undo_logs = {}
        self._copies = {}
        self.best_weights = None

    def _keep(self, net: Any) -> None:
        if not self.restore:
            return
        for log in self._undo_logs.values():
            log.clear()
        left = _not_copied(net.module_)
        state = net.module_.state_dict()
        self._copies = {name: value.clone() for name, value in state.items() if name not in left}

    def _restore(self, net: Any) -> None:
        for log in self._undo_logs.values():
            log.undo()
        state = net.module_.state_dict()  # shares memory with the module
        with torch.no_grad():
            for name, value in self._copies.items():
                state[name].copy_(value)


@dataclass(eq=False, repr=False)
class Convergence(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop when training loss is flat or nearly zero, after some epochs of averaged weights."""

    _: KW_ONLY
    averages: bool

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Start."""
        self._losses: list[float] = []  # the first step's, then of each epoch
        self._last_epoch = math.inf

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the epoch before."""
        if not self._losses:
            self._losses.append(net.history[-1]["batches"][0]["train_loss"])
        self._losses.append(net.history[-1]["train_loss"])
        n_epochs, loss = len(self._losses) - 1, self._losses[-1]
        if self._last_epoch == math.inf:
            window = -(-_MIN_STEPS // net.history[-1]["train_batch_count"])
            still_falls = n_epochs < 2 * window or loss < _SMALLEST_FALL * self._losses[-1 - window]
            if still_falls and loss > _VANISHED * self._losses[0]:
                return
            self._last_epoch = n_epochs
            if self.averages:
                self._last_epoch += -(-n_epochs // 3)  # a quarter of all epochs
                for group in net.optimizer_.param_groups:
                    group["average_after"] = group["steps"]
        if n_epochs >= self._last_epoch:
            raise StopTraining


def score_of(epoch: Mapping[str, Any], monitor: str) -> float:
    """Return a metric of an epoch with the sign by which higher is better."""
    return -float(epoch[monitor]) if monitor == "valid_loss" else float(epoch[monitor])


def _not_copied(module: nn.Module) -> set[str]:
    """Return the parameters without a copy: untrained ones, and tables with logs of changes."""
    return {
        name
        for name, parameter in module.named_parameters()
        if parameter.device.type == "cpu"
        and (
            not parameter.requires_grad or (parameter.grad is not None and parameter.grad.is_sparse)
        )
    }
