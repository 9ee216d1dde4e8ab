"""Training a net by a plan."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from skorch.callbacks import LRScheduler, ProgressBar
from skorch.helper import predefined_split
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from sklearn_hashnlp.classifiers._losses import make_row_loss
from sklearn_hashnlp.classifiers._net import PREDICT_ROWS, ClassifierNet
from sklearn_hashnlp.training._batches import Dataset
from sklearn_hashnlp.training._callbacks import LinearSchedule
from sklearn_hashnlp.training._early_stopping import EarlyStopping, lower_is_better
from sklearn_hashnlp.training._optimizers import make_optimizer, transfer_state
from sklearn_hashnlp.training._settings import TrainingSettings

_CHECKED_ROWS = 32


def train(net: ClassifierNet, rows: Dataset, valid_rows: Dataset | None, plan: TrainingSettings) -> None:
    """Train a net, and leave on it nothing that only training needs but the optimiser and the callbacks."""
    started = time.perf_counter()
    smallest = 2 if any(isinstance(layer, nn.BatchNorm1d) for layer in net.module_.head) else 1
    n_batches = len(net.iterator_train(rows, plan.batch_size, smallest=smallest))
    n_steps = plan.max_epochs * n_batches
    averages = plan.average and valid_rows is None
    optimizer = make_optimizer(
        net.module_,
        plan.optimizer,
        learning_rate=plan.learning_rate,
        average_after=n_steps - max(1, n_steps // 4) if averages else None,
    )
    transfer_state(net.optimizer_, optimizer)
    net.optimizer_, net.lr = optimizer, plan.learning_rate
    net.criterion_ = make_row_loss(plan.loss, net.module_.head)
    net.predict_nonlinearity = net.criterion_.probabilities
    net.multilabel = rows.targets.ndim == 2
    net.max_epochs, net.batch_size, net.verbose = plan.max_epochs, plan.batch_size, plan.verbose
    net.iterator_train__shuffle = plan.shuffle
    net.iterator_train__generator = np.random.default_rng(plan.seed)
    net.iterator_train__smallest = smallest
    net.iterator_train__device = net.iterator_valid__device = net.device
    n_valid_batches = 0 if valid_rows is None else len(net.iterator_valid(valid_rows, PREDICT_ROWS))
    net.callbacks = _callbacks(plan, n_batches + n_valid_batches, n_steps, held_out=valid_rows is not None)
    net.initialize_callbacks()
    if plan.verbose > 2:
        print(_describe(net, rows, valid_rows, plan, n_steps))
    net.train_split = None if valid_rows is None else predefined_split(valid_rows)
    net.deadline = None if plan.max_time is None else started + plan.max_time
    try:
        with net.following(plan):
            net.partial_fit(rows)
    finally:
        net.train_split = net.deadline = None  # the rows are not to outlive their training
    if averages:
        net.optimizer_.load_average()
    net.check_scores(rows.select(np.arange(min(_CHECKED_ROWS, len(rows)))))


def _callbacks(plan: TrainingSettings, n_batches: int, n_steps: int, *, held_out: bool) -> list[Any]:
    callbacks = list(plan.callbacks)
    if plan.schedule == "linear":
        callbacks.append(("linear_schedule", LinearSchedule(n_steps)))
    if held_out:
        if plan.lr_plateau is not None:
            callbacks.append(("lr_plateau", _plateau(plan.monitor, *plan.lr_plateau)))
        best = EarlyStopping(plan.patience, plan.monitor, restore=plan.restore_best, folder=plan.checkpoint_dir)
        callbacks.append(("stop_at_best", best))
    if plan.verbose > 1:
        callbacks.append(("progress_bar", ProgressBar(n_batches, detect_notebook=False)))
    return callbacks


def _plateau(monitor: str, patience: int, factor: float) -> LRScheduler:
    return LRScheduler(
        ReduceLROnPlateau,
        monitor=monitor,
        event_name="lr",
        mode="min" if lower_is_better(monitor) else "max",
        factor=factor,
        patience=patience - 1,  # torch counts the epochs that it bears
        threshold=0.0,  # every improvement is one, as for the best epoch
    )


def _describe(
    net: ClassifierNet, rows: Dataset, valid_rows: Dataset | None, plan: TrainingSettings, n_steps: int
) -> str:
    n_parameters = sum(parameter.numel() for parameter in net.module_.parameters())
    held_out = "no rows" if valid_rows is None else f"{len(valid_rows)} rows"
    return "\n".join(
        [
            f"Training on {len(rows)} rows with {rows.n_values} values, validating on {held_out}.",
            f"{n_parameters} parameters on {net.device}: {net.module_}",
            f"{n_steps} steps at most: {plan}",
        ]
    )
