"""Training a language model by a plan."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from skorch.helper import predefined_split

from sklearn_hashnlp.estimators._language_callbacks import Plateau, SeedEpochs, StepLog, StopAtBestPass
from sklearn_hashnlp.estimators._language_net import LanguageNet
from sklearn_hashnlp.estimators._language_optimizer import make_language_optimizer
from sklearn_hashnlp.estimators._language_plan import LanguagePlan
from sklearn_hashnlp.estimators._linear_schedule import LinearSchedule
from sklearn_hashnlp.estimators._net_optimizer import hand_over
from sklearn_hashnlp.estimators._word_windows import WindowBatches, WordWindows

_LOGGED_WINDOWS = 2**13  # enough for a loss to two digits, in a tenth of a second


def train_language(
    net: LanguageNet, windows: WordWindows, valid_windows: WordWindows | None, plan: LanguagePlan
) -> list[dict[str, float]]:
    """Train a net, and leave on it nothing that only training needs but the optimiser and the callbacks.

    An interrupt (``KeyboardInterrupt``) ends training early and in good order: the weights are the best epoch's where
    they are kept, else what was reached; the history holds the epochs that were finished, and ``net.interrupted_`` is
    True.

    Parameters
    ----------
    net : LanguageNet
        An initialised net. If it was trained before, its optimiser goes on with what it has gathered, unless the plan
        has another; the history is added to.
    windows : WordWindows
        What to learn.
    valid_windows : WordWindows or None
        What to measure every epoch by.
    plan : LanguagePlan
        How.

    Returns
    -------
    list of dict
        What was noted every ``plan.log_every`` steps.

    Raises
    ------
    ValueError
        If training diverges.
    """
    started = time.perf_counter()
    optimizer = make_language_optimizer(net.module_, plan.optimizer, plan.learning_rate, plan.bias_learning_rate)
    hand_over(net.optimizer_, optimizer)
    net.optimizer_, net.lr = optimizer, plan.learning_rate
    net.max_epochs, net.batch_size, net.verbose = plan.max_epochs, plan.batch_size, plan.verbose
    generator = np.random.default_rng(plan.seed)
    net.iterator_train__shuffle, net.iterator_train__generator = plan.shuffle, generator
    net.iterator_train__device = net.iterator_valid__device = net.device
    first = len(net.history)
    n_steps = plan.max_epochs * len(WindowBatches(windows, plan.batch_size))
    callbacks: list[Any] = [("seed_epochs", SeedEpochs(plan.seed, generator)), *plan.callbacks]
    log = None
    if plan.schedule == "linear":
        callbacks.append(("linear_schedule", LinearSchedule(n_steps)))
    if plan.lr_plateau is not None and valid_windows is not None:
        callbacks.append(("lr_plateau", Plateau(*plan.lr_plateau, first)))
    if plan.restore_best and valid_windows is not None:
        callbacks.append(("stop_at_best", StopAtBestPass(plan.patience, first)))
    if plan.log_every is not None:
        some = None if valid_windows is None else valid_windows.spread(_LOGGED_WINDOWS)
        log = StepLog(plan.log_every, some, plan.verbose > 1)
        callbacks.append(("step_log", log))
    net.callbacks = callbacks
    net.initialize_callbacks()
    net.train_split = None if valid_windows is None else predefined_split(valid_windows)
    net.deadline = None if plan.max_time is None else started + plan.max_time
    try:
        net.partial_fit(windows)
    finally:
        net.train_split = net.deadline = None  # the windows are not to outlive their training
    net.module_.eval()
    return [] if log is None else log.log_
