"""Train a net: the one way for every estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
from skorch.callbacks import GradientNormClipping, LRScheduler
from skorch.helper import predefined_split
from torch import Tensor
from torch.optim import Optimizer

from sklearn_hashnlp._sklearn import level_of_user
from sklearn_hashnlp.training._callbacks import EpochBar, LinearSchedule, ReduceOnPlateau, Warmup
from sklearn_hashnlp.training._early_stopping import EarlyStopping
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizers import transfer_state
from sklearn_hashnlp.training._settings import TrainingSettings

_WARMUP_EPOCHS = 3  # a warmup takes at most so many: small corpora have few steps


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
    first_epoch: int | None = None,
    best_weights: Mapping[str, Tensor] | None = None,
    planned_epochs: int | None = None,
) -> None:
    """Train a net, epoch after epoch, from the weights that it has.

    SIGINT, and ``KeyboardInterrupt`` of a callback, end training early and in good order: the weights are the best
    epoch's where they are kept, else the average so far where one is taken, else those that were reached; the history
    holds the finished epochs, and ``net.interrupted_`` is whether it was SIGINT. The data do not stay on the net.

    ``optimizer`` goes on with the state of the net's own, if it is of the same kind. ``batch_options`` are more
    arguments of the batches of ``train``. ``first_callbacks`` and ``last_callbacks`` stand around the user's.
    ``first_epoch``, ``best_weights`` and ``planned_epochs`` are of a training that is resumed: where in the history it
    began, the weights to return to if no epoch to come is better, and the epochs that its learning rates were planned
    for.
    """
    transfer_state(net.optimizer_, optimizer)
    first_epoch = len(net.history) if first_epoch is None else first_epoch
    options = {"shuffle": settings.shuffle, "generator": np.random.default_rng(settings.seed)} | dict(batch_options)
    with _configured(net, valid, settings, optimizer, loss, options):
        n_batches, n_done = len(net.get_iterator(train, training=True)), len(net.history) - first_epoch
        n_steps = settings.max_epochs * n_batches
        averages = settings.average and valid is None
        if averages:
            for group in optimizer.param_groups:
                group["average_after"] = n_steps - max(1, n_steps // 4)
        callbacks = [*first_callbacks, *settings.callbacks]
        if settings.warmup_steps and not first_epoch:
            callbacks.append(Warmup(min(settings.warmup_steps, _WARMUP_EPOCHS * n_batches), n_done * n_batches))
        if settings.schedule == "linear":
            planned_steps = None if planned_epochs is None else planned_epochs * n_batches
            callbacks.append(LinearSchedule(n_steps, n_done * n_batches, planned_steps))
        if valid is not None:
            callbacks += _validation_callbacks(settings, first_epoch, best_weights)
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
        net.fit_loop(train)  # not by skorch's partial_fit, where every KeyboardInterrupt ends
        net.notify("on_train_end", X=train, y=None)
    if not settings.keeps_batches:
        for entry in net.history[-1:]:
            entry["batches"] = []
    if averages:
        optimizer.load_average()  # type: ignore[attr-defined]  # only row-wise optimizers are asked for averages


@contextmanager
def _configured(
    net: Net,
    valid: Any | None,
    settings: TrainingSettings,
    optimizer: Optimizer,
    loss: Any | None,
    options: Mapping[str, Any],
) -> Iterator[None]:
    """Set on a net what decides its training; its data are not to outlive the training."""
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
        net.criterion_ = old_loss  # what was learned before means what it meant
        for _, callback in net.callbacks_:
            if isinstance(callback, EarlyStopping):
                callback.discard()
        raise
    finally:
        net.train_split = net.deadline = net.max_grad_norm = None
        net.module_.eval()


def _validation_callbacks(
    settings: TrainingSettings, first_epoch: int, best_weights: Mapping[str, Tensor] | None
) -> list[Any]:
    callbacks: list[Any] = []
    if settings.lr_plateau is not None:
        callbacks.append(ReduceOnPlateau(*settings.lr_plateau, settings.monitor, first_epoch))
    if settings.stops_early:
        early_stopping = EarlyStopping(
            settings.patience,
            settings.monitor,
            restore=settings.restore_best,
            first_epoch=first_epoch,
            best_weights=best_weights,
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
