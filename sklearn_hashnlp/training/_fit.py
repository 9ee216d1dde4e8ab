"""Train a net, for every estimator; the weights that a training restores, of the best epoch and after an error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback, GradientNormClipping, LRScheduler
from skorch.helper import predefined_split
from torch import Tensor, nn
from torch.optim import Optimizer

from sklearn_hashnlp._sklearn import level_of_user
from sklearn_hashnlp.optim._rowwise_optimizer import coalesced
from sklearn_hashnlp.training._callbacks import EpochBar, LinearSchedule, ReduceOnPlateau, Warmup, lower_is_better
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import transfer_state
from sklearn_hashnlp.training._settings import TrainingSettings

_WARMUP_EPOCHS = 3  # maximum length of a warmup: small corpora have few steps per epoch


@dataclass(frozen=True)
class Resumed:
    """State of a training that is resumed."""

    first_epoch: int  # index of its first epoch in the net's history
    best_weights: Mapping[str, Tensor] | None = None  # weights of the best epoch, if they may be restored
    planned_epochs: int | None = None  # number of epochs that the schedule was planned for
    learning_rates: Sequence[float] = ()  # current rates of the optimizer's parameter groups, if they are restored


def fit_net(
    net: Net,
    train: Any,
    valid: Any | None,
    settings: TrainingSettings,
    *,
    optimizer: Optimizer,
    loss: Any | None = None,
    batch_options: Mapping[str, Any] = MappingProxyType({}),
    first_callbacks: Sequence[Any] = (),
    last_callbacks: Sequence[Any] = (),
    resumed: Resumed | None = None,
) -> None:
    """Train a net from its current weights.

    SIGINT, or ``KeyboardInterrupt`` in a callback, stops training early. The final weights are then those of the best
    epoch if they are stored, else the average if there is one, else the current ones; the history holds the completed
    epochs, and ``net.interrupted_`` is True after SIGINT. The net does not keep the data.

    ``optimizer`` takes over the state of the net's optimizer, if it has the same class. ``batch_options`` are passed to
    the batches of ``train``. ``first_callbacks`` and ``last_callbacks`` are called before and after the user's.
    """
    transfer_state(net.optimizer_, optimizer)
    resumed = resumed or Resumed(len(net.history))
    options = {"shuffle": settings.shuffle, "generator": np.random.default_rng(settings.seed)} | dict(batch_options)
    with _configured(net, valid, settings, optimizer, loss, options):
        n_batches, n_done = len(net.get_iterator(train, training=True)), len(net.history) - resumed.first_epoch
        n_steps = settings.max_epochs * n_batches
        averages = settings.average and valid is None
        if averages:
            for group in optimizer.param_groups:
                group["average_after"] = n_steps - max(1, n_steps // 4)
        callbacks = [*first_callbacks, *settings.callbacks]
        if settings.warmup_steps and not resumed.first_epoch:
            callbacks.append(Warmup(min(settings.warmup_steps, _WARMUP_EPOCHS * n_batches), n_done * n_batches))
        if settings.schedule == "linear":
            planned_steps = None if resumed.planned_epochs is None else resumed.planned_epochs * n_batches
            callbacks.append(LinearSchedule(n_steps, n_done * n_batches, planned_steps))
        if valid is not None:
            callbacks += _validation_callbacks(settings, resumed)
        if settings.progress_bar and EpochBar.is_shown():
            n_valid_batches = 0 if valid is None else len(net.get_iterator(valid, training=False))
            callbacks.append(EpochBar(n_batches + n_valid_batches, detect_notebook=False))
        net.max_epochs, net.callbacks = settings.max_epochs - n_done, [*callbacks, *last_callbacks]
        net.initialize_callbacks()
        used = [callback for _, callback in net.callbacks_]
        if net.has_sparse_gradients and any(isinstance(callback, GradientNormClipping) for callback in used):
            raise ValueError(
                "GradientNormClipping cannot clip sparse gradients. Set max_grad_norm where the estimator has it, or "
                "call sklearn_hashnlp.optim.clip_grad_norm_ in on_grad_computed of a callback of your own."
            )
        if settings.schedule == "linear" and any(isinstance(callback, LRScheduler) for callback in used):
            warnings.warn(
                "The learning rates of the linear decay are multiplied by those of the callback LRScheduler. Set a "
                "schedule with decay='constant' to use the callback's alone.",
                stacklevel=level_of_user(),
            )
        if settings.verbose > 2:
            print(_describe(net, train, valid, settings, n_steps))
        net.notify("on_train_begin", X=train, y=None)
        net.fit_loop(train)  # skorch's partial_fit would catch every KeyboardInterrupt
        net.notify("on_train_end", X=train, y=None)
    if not settings.keeps_batches:
        for entry in net.history[-1:]:
            entry["batches"] = []
    if averages:
        optimizer.load_average()  # type: ignore[attr-defined]  # averages are only used with row-wise optimizers


@contextmanager
def _configured(
    net: Net,
    valid: Any | None,
    settings: TrainingSettings,
    optimizer: Optimizer,
    loss: Any | None,
    options: Mapping[str, Any],
) -> Iterator[None]:
    """Configure a net for training, and remove its data afterwards."""
    net.optimizer_, net.lr, net.was_trained = optimizer, settings.learning_rate, True
    net.batch_size, net.verbose = settings.batch_size, settings.verbose
    old_loss = net.criterion_
    if loss is not None:
        net.criterion_ = loss
    for name, value in options.items():
        setattr(net, f"iterator_train__{name}", value)
    net.iterator_train__device = net.iterator_valid__device = net.device
    net.train_split = None if valid is None else predefined_split(valid)
    net.max_grad_norm = settings.max_grad_norm
    try:
        yield
    except BaseException:
        net.criterion_ = old_loss
        for _, callback in net.callbacks_:
            if isinstance(callback, EarlyStopping):
                callback.discard()
        raise
    finally:
        net.train_split = net.deadline = net.max_grad_norm = None
        net.module_.eval()


def _validation_callbacks(settings: TrainingSettings, resumed: Resumed) -> list[Any]:
    callbacks: list[Any] = []
    if settings.lr_plateau is not None:
        callbacks.append(ReduceOnPlateau(*settings.lr_plateau, settings.monitor, resumed.first_epoch))
    if settings.stops_early:
        early_stopping = EarlyStopping(
            settings.patience,
            settings.monitor,
            restore=settings.restore_best,
            first_epoch=resumed.first_epoch,
            best_weights=resumed.best_weights,
        )
        callbacks.append(early_stopping)
    return callbacks


def _describe(net: Net, train: Any, valid: Any | None, settings: TrainingSettings, n_steps: int) -> str:
    n_parameters = sum(parameter.numel() for parameter in net.module_.parameters())
    n_valid = "no samples" if valid is None else f"{len(valid)} samples"
    return "\n".join(
        [
            f"Training on {len(train)} samples, validating on {n_valid}.",
            f"{n_parameters} parameters on {net.device}: {net.module_}",
            f"{n_steps} steps at most: {settings}",
        ]
    )


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


class EarlyStopping(Callback):  # type: ignore[misc]  # skorch has no types
    """Stop when validation has not improved for some epochs, and restore the weights of the best epoch."""

    def __init__(
        self,
        patience: int | None,  # number of epochs without improvement; None never stops
        monitor: str = "valid_acc",
        *,
        restore: bool = True,  # whether to restore the best weights
        first_epoch: int | None = None,  # first epoch of a resumed training; None is the next epoch
        best_weights: Mapping[str, Tensor] | None = None,  # best weights of a resumed training
    ) -> None:
        self.patience = patience
        self.monitor = monitor
        self.restore = restore
        self.first_epoch = first_epoch
        self.best_weights = best_weights

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start, or resume an interrupted training."""
        first = len(net.history) if self.first_epoch is None else self.first_epoch
        scores = [self._score(entry) for entry in net.history[first:]]
        self._best_score = max(scores, default=-math.inf)
        self.best_epoch_ = first + scores.index(self._best_score) + 1 if scores else 0
        self._undo_logs: dict[str, UndoLog] = {}
        self._copies: dict[str, Tensor] = dict(self.best_weights or {})

    def on_grad_computed(self, net: Any, **_: Any) -> None:
        """Log the rows before the optimizer writes them."""
        if not self._copies:
            return  # no best epoch yet
        for name, parameter in net.module_.named_parameters():
            if parameter.grad is not None and name not in self._copies:
                parameter.grad = coalesced(parameter.grad)  # required by the optimizer as well
                self._undo_logs.setdefault(name, UndoLog(parameter)).note(parameter.grad.indices()[0])

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Compare with the best epoch."""
        score, epoch = self._score(net.history[-1]), net.history[-1]["epoch"]
        if score > self._best_score:
            self._best_score, self.best_epoch_ = score, epoch
            self._keep(net)
        elif self.patience is not None and epoch - self.best_epoch_ >= self.patience:
            raise KeyboardInterrupt  # skorch's signal to stop training

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Restore the best epoch."""
        if self.best_epoch_ and self.restore:
            self._restore(net)
        self.discard()

    def discard(self) -> None:
        """Release the weights of the best epoch."""
        self._undo_logs, self._copies, self.best_weights = {}, {}, None

    def _score(self, entry: Mapping[str, Any]) -> float:
        score = float(entry[self.monitor])
        return -score if lower_is_better(self.monitor) else score

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


def _not_copied(module: nn.Module) -> set[str]:
    """Return the parameters without a copy: untrained ones, and tables with a log of changed rows."""
    return {
        name
        for name, parameter in module.named_parameters()
        if parameter.device.type == "cpu"
        and (not parameter.requires_grad or (parameter.grad is not None and parameter.grad.is_sparse))
    }
