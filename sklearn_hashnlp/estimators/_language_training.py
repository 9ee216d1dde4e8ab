"""Training a language model by a plan."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from skorch.callbacks import Callback
from skorch.helper import predefined_split
from torch import Tensor

from sklearn_hashnlp.estimators._language_callbacks import Plateau, SeedEpochs, StepLog, StopAtBestPass
from sklearn_hashnlp.estimators._language_net import LanguageNet
from sklearn_hashnlp.estimators._language_optimizer import make_language_optimizer
from sklearn_hashnlp.estimators._language_plan import LanguagePlan
from sklearn_hashnlp.estimators._linear_schedule import LinearSchedule
from sklearn_hashnlp.estimators._net_optimizer import hand_over
from sklearn_hashnlp.estimators._word_windows import WindowBatches, WordWindows

_LOGGED_WINDOWS = 2**13  # enough for a loss to two digits, in a tenth of a second


@dataclass(frozen=True)
class Interrupted:
    """What is known of a training that is taken up again."""

    first: int  # how many epochs of the net's history belong to trainings before it
    learning_rates: list[float]  # the step sizes that it had come to
    best_weights: dict[str, Tensor]  # those of its best epoch, if they are to be returned to


def train_language(
    net: LanguageNet,
    windows: WordWindows,
    valid_windows: WordWindows | None,
    plan: LanguagePlan,
    *,
    log: list[dict[str, float]],
    last_callback: Callback | None = None,
    interrupted: Interrupted | None = None,
) -> None:
    """Train a net, and leave on it nothing that only training needs but the optimiser and the callbacks."""
    started = time.perf_counter()
    optimizer = make_language_optimizer(
        net.module_,
        plan.optimizer,
        plan.learning_rate,
        n_words=min(plan.batch_size, len(windows)),
        bias_learning_rate=plan.bias_learning_rate,
        direct_learning_rate=plan.direct_learning_rate,
    )
    hand_over(net.optimizer_, optimizer)
    if interrupted is not None:
        for group, rate in zip(optimizer.param_groups, interrupted.learning_rates, strict=True):
            group["lr"] = rate
    net.optimizer_, net.lr = optimizer, plan.learning_rate
    first = len(net.history) if interrupted is None else interrupted.first
    n_done = len(net.history) - first
    net.max_epochs, net.batch_size, net.verbose = plan.max_epochs - n_done, plan.batch_size, plan.verbose
    generator = np.random.default_rng(plan.seed)
    net.iterator_train__shuffle, net.iterator_train__generator = plan.shuffle, generator
    net.iterator_train__device = net.iterator_valid__device = net.device
    net.callbacks = [("seed_epochs", SeedEpochs(plan.seed, generator)), *plan.callbacks]
    if plan.schedule == "linear":
        n_batches = len(WindowBatches(windows, plan.batch_size))
        net.callbacks.append(("linear_schedule", LinearSchedule(plan.max_epochs * n_batches, n_done * n_batches)))
    if valid_windows is not None:
        net.callbacks += _measuring_callbacks(plan, first, {} if interrupted is None else interrupted.best_weights)
    if plan.log_every is not None:
        some = None if valid_windows is None else valid_windows.spread(_LOGGED_WINDOWS)
        net.callbacks.append(("step_log", StepLog(plan.log_every, some, log, show=plan.verbose > 1)))
    if last_callback is not None:
        net.callbacks.append(("last", last_callback))
    net.initialize_callbacks()
    if plan.verbose > 2:
        print(_describe(net, windows, valid_windows, plan))
    net.train_split = None if valid_windows is None else predefined_split(valid_windows)
    net.deadline = None if plan.max_time is None else started + plan.max_time
    try:
        net.partial_fit(windows)
    finally:
        net.train_split = net.deadline = None  # the windows are not to outlive their training
    net.module_.eval()


def _measuring_callbacks(plan: LanguagePlan, first: int, best_weights: dict[str, Tensor]) -> list[tuple[str, Callback]]:
    callbacks: list[tuple[str, Callback]] = []
    if plan.lr_plateau is not None:
        callbacks.append(("lr_plateau", Plateau(*plan.lr_plateau, first)))
    if plan.restore_best:
        callbacks.append(("stop_at_best", StopAtBestPass(plan.patience, first, best_weights)))
    return callbacks


def _describe(net: LanguageNet, windows: WordWindows, valid_windows: WordWindows | None, plan: LanguagePlan) -> str:
    n_parameters = sum(parameter.numel() for parameter in net.module_.parameters())
    measured_by = "none" if valid_windows is None else len(valid_windows)
    return "\n".join(
        [
            f"Training on {len(windows)} words, validating on {measured_by}.",
            f"{n_parameters} parameters on {net.device}: {net.module_}",
            str(plan),
        ]
    )
