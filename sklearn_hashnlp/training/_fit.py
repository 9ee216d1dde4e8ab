"""Train a net, for every estimator; and the schedule of the learning rate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from skorch.callbacks import Callback, GradientNormClipping, LRScheduler
from skorch.helper import predefined_split
from torch import Tensor
from torch.optim import Optimizer

from sklearn_hashnlp._sklearn import level_of_user
from sklearn_hashnlp.training._callbacks import EpochBar, EpochReports, as_callbacks
from sklearn_hashnlp.training._early_stopping import Convergence, EarlyStopping, score_of
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import transfer_state
from sklearn_hashnlp.training._settings import TrainingSettings

_WARMUP_EPOCHS = 3  # maximum length of a warmup: small corpora have few steps per epoch


@dataclass(frozen=True)
class Resumed:
    """State of a training that is resumed."""

    first_epoch: int  # index of its first epoch in the net's history
    # weights of the best epoch, if they may be restored
    best_weights: Mapping[str, Tensor] | None = None
    planned_epochs: int | None = None  # number of epochs that the schedule was planned for
    # current rates of the optimizer's parameter groups, if they are restored
    learning_rates: Sequence[float] = ()


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
    """Train a net from its current weights; ``optimizer`` takes over state of the same class."""
    # After an interrupt the weights are those of the best epoch if it is stored, else the average,
    # else the last ones.
    if optimizer is not net.optimizer_:
        transfer_state(net.optimizer_, optimizer)
    resumed = resumed or Resumed(len(net.history))
    for group, rate in zip(optimizer.param_groups, resumed.learning_rates, strict=False):
        group["lr"] = rate
    generator = np.random.default_rng(settings.seed)
    options = {"shuffle": settings.schedule.shuffle, "generator": generator} | dict(batch_options)
    with _configured(net, valid, settings, optimizer, loss, options):
        n_batches = len(net.get_iterator(train, training=True))
        n_done = len(net.history) - resumed.first_epoch
        n_steps = settings.max_epochs * n_batches
        held_out = None if settings.only_scores else valid
        averages = settings.schedule.average and held_out is None
        if settings.to_convergence and held_out is None:
            last_callbacks = [Convergence(averages=averages), *last_callbacks]
        elif averages:
            for group in optimizer.param_groups:
                group["average_after"] = n_steps - max(1, n_steps // 4)
        callbacks = [*first_callbacks, *as_callbacks(settings.callbacks)]
        schedule, stopping = settings.schedule, settings.early_stopping
        plateau = None if held_out is None else schedule.plateau
        if schedule.warmup_steps or schedule.decay == "linear" or plateau:
            plan = replace(resumed, best_weights=None)  # callbacks live as long as the model
            callbacks.append(
                LearningRateSchedule(settings, plan, n_batches, n_done=n_done, plateau=plateau)
            )
        if held_out is not None and stopping is not None:
            early_stopping = EarlyStopping(
                stopping.patience,
                stopping.monitor,
                restore=stopping.restore_best,
                first_epoch=resumed.first_epoch,
                best_weights=resumed.best_weights,
            )
            callbacks.append(early_stopping)
        if settings.progress_bar and EpochBar.is_shown():
            n_valid_batches = 0 if valid is None else len(net.get_iterator(valid, training=False))
            callbacks.append(EpochBar(n_batches + n_valid_batches, detect_notebook=False))
        net.max_epochs, net.callbacks = settings.max_epochs - n_done, [*callbacks, *last_callbacks]
        net.initialize_callbacks()
        _check_callbacks(net, settings)
        if settings.verbose > 2:
            print(_describe(net, train, valid, settings, n_steps))
        net.notify("on_train_begin", X=train, y=None)
        net.fit_loop(train)  # skorch's partial_fit would catch every KeyboardInterrupt
        net.notify("on_train_end", X=train, y=None)
    if settings.partial:  # a stream has an epoch per call
        for entry in net.history[-1:]:
            entry["batches"] = []
    if averages:
        # averages are only used with row-wise optimizers
        optimizer.load_average()  # type: ignore[attr-defined]


def _check_callbacks(net: Net, settings: TrainingSettings) -> None:
    """Refuse a callback that clips sparse gradients; warn of one that sets learning rates, too."""
    used = [callback for _, callback in net.callbacks_]
    if net.has_sparse_gradients and any(isinstance(one, GradientNormClipping) for one in used):
        raise ValueError(
            "GradientNormClipping cannot clip sparse gradients. Set max_grad_norm where the "
            "estimator has it, or call sklearn_hashnlp.optim.clip_grad_norm_ in "
            "on_grad_computed of a callback of your own."
        )
    if settings.schedule.decay == "linear" and any(isinstance(one, LRScheduler) for one in used):
        warnings.warn(
            "The learning rates of the linear decay are multiplied by those of the callback "
            "LRScheduler. Set a schedule with decay='constant' to use the callback's alone.",
            stacklevel=level_of_user(),
        )


@dataclass(eq=False, repr=False)
class LearningRateSchedule(Callback):  # type: ignore[misc]  # skorch has no types
    """Multiply learning rates at each step: linear warmup, linear decay, and plateau factor."""

    settings: TrainingSettings
    resumed: Resumed
    n_batches: int  # of an epoch
    _: KW_ONLY
    n_done: int  # epochs before an interruption
    plateau: Sequence[float] | None  # epochs without improvement, and the factor after them

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Start, or resume with the learning rate of the new plan."""
        schedule = self.settings.schedule
        resumed = self.resumed
        n_epochs = self.settings.max_epochs
        # The rate rises to its full value in the warmup, and decreases to 0 after the last step.
        self._n_warmup = (
            0
            if resumed.first_epoch
            else min(schedule.warmup_steps, _WARMUP_EPOCHS * self.n_batches)
        )
        self._decays, self._n_steps = schedule.decay == "linear", n_epochs * self.n_batches
        self.steps_ = self.n_done * self.n_batches
        n_planned = (resumed.planned_epochs or n_epochs) * self.n_batches  # before the interruption
        if not self._decays or not self.n_done or n_planned == self._n_steps:
            return  # the same plan must give the same bits
        new, old = (1 - (self.steps_ - 1) / n_steps for n_steps in (self._n_steps, n_planned))
        _multiply_rates(net, new / old)

    def on_batch_begin(self, net: Any, training: bool | None = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        if not training:
            return
        done = self.steps_
        if done < self._n_warmup:
            _multiply_rates(net, (done + 1) / done if done else 1 / self._n_warmup)
        if done and self._decays:
            left = self._n_steps - done
            _multiply_rates(net, left / (left + 1))
        self.steps_ += 1

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Check all epochs so far for a plateau; without further state, training can be resumed."""
        if self.plateau is None:
            return
        net.history.record("lr", net.optimizer_.param_groups[0]["lr"])
        (patience, factor) = self.plateau
        best = math.inf
        waited = 0
        for entry in net.history[self.resumed.first_epoch :]:
            loss = -score_of(entry, self.settings.monitor)
            waited = 0 if waited >= patience else waited
            waited = 0 if loss < best else waited + 1
            best = min(best, loss)
        if waited >= patience:
            _multiply_rates(net, factor)


def _multiply_rates(net: Any, factor: float) -> None:
    for group in net.optimizer_.param_groups:
        group["lr"] *= factor


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
    net.optimizer_ = optimizer
    net.lr = settings.learning_rate
    net.was_trained = True
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
        raise
    finally:
        net.train_split = net.deadline = net.max_grad_norm = None
        for _, callback in net.callbacks_:
            if isinstance(callback, EarlyStopping | EpochReports):
                callback.release()
        net.module_.eval()


def _describe(
    net: Net, train: Any, valid: Any | None, settings: TrainingSettings, n_steps: int
) -> str:
    n_valid = "no samples" if valid is None else f"{len(valid)} samples"
    return "\n".join(
        [
            f"Training on {len(train)} samples, validating on {n_valid}.",
            f"{net.n_parameters} parameters on {net.device}: {net.module_}",
            f"{n_steps} steps at most: {settings}",
        ]
    )
