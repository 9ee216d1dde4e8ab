"""How a language model trains, is checkpointed and resumes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from skorch.helper import predefined_split
from torch import Tensor

from sklearn_hashnlp.language._batches import WindowBatches, WindowDataset
from sklearn_hashnlp.language._net import LanguageNet
from sklearn_hashnlp.language._plan import LanguagePlan
from sklearn_hashnlp.language._reader import TrainingData
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.nn import NPLM
from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam
from sklearn_hashnlp.training._callbacks import LinearSchedule, Plateau, SeedEpochs, StepLog, StopAtBestPass
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch
from sklearn_hashnlp.training._optimizers import OPTIMIZERS, transfer_state
from sklearn_hashnlp.training._state import pack_table, unpack_table

_PROJECTION = "embedding.linear.weight"
_PROJECTION_STEP = 1 / 3  # by measure: each word's step moves all other words' vectors a little
_DAMPING = 15  # gradients of single words; without it the first steps of rare words and nodes are as long as any


def make_language_optimizer(
    module: NPLM,
    name: str,
    learning_rate: float,
    *,
    n_words: int,
    bias_learning_rate: float = 1.0,
    direct_learning_rate: float = 1.0,
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser that has gathered nothing yet."""
    parameters = dict(module.named_parameters())
    factors = {"hidden_layer.bias": bias_learning_rate, "output_layer.direct": direct_learning_rate}
    groups: list[dict[str, Any]] = [{"params": [parameters[key] for key in parameters if key not in factors]}]
    groups += [
        {"params": [parameters[key]], "lr": learning_rate * factor}
        for key, factor in factors.items()
        if key in parameters
    ]
    if name == "adam":
        return RowwiseAdam(groups, lr=learning_rate)
    if _PROJECTION in parameters:
        groups.append(_projection_group(groups[0]["params"], parameters[_PROJECTION], learning_rate, n_words))
    return RowwiseAdagrad(groups, lr=learning_rate, eps=_DAMPING / n_words)


def _projection_group(
    others: list[torch.Tensor], weight: torch.Tensor, learning_rate: float, n_words: int
) -> dict[str, Any]:
    """Take the layer that reads n signs of +-1 / sqrt(n) out of its group, and say how AdaGrad trains it."""
    others[:] = [parameter for parameter in others if parameter is not weight]
    root = math.sqrt(weight.shape[1])
    return {"params": [weight], "lr": learning_rate * _PROJECTION_STEP / root, "eps": _DAMPING / n_words / root}


def pack_language_optimizer(
    module: NPLM, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what an optimiser has gathered; of a table only the rows that were trained."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                arrays |= pack_table(f"{name}.{key}", value.detach().cpu().contiguous().numpy(), 0.0)
            else:
                arrays[f"{name}.{key}"] = np.array(value)
    name = next(name for name, kind in OPTIMIZERS.items() if isinstance(optimizer, kind))
    return {"optimizer": name, "learning_rates": [float(group["lr"]) for group in optimizer.param_groups]}, arrays


def unpack_language_optimizer(
    module: NPLM, values: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> RowwiseAdagrad | RowwiseAdam:
    """Make an optimiser with what another had gathered."""
    if values["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"The optimizer must be one of {tuple(OPTIMIZERS)}, got {values['optimizer']!r}.")
    optimizer = make_language_optimizer(module, values["optimizer"], 0.0, n_words=1)
    for group, rate in zip(optimizer.param_groups, values["learning_rates"], strict=True):
        group["lr"] = rate
    for name, parameter in module.named_parameters():
        keys = {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}
        for key in sorted(keys):
            optimizer.state[parameter][key] = _accumulator(f"{name}.{key}", arrays, parameter)
    return optimizer


def _accumulator(name: str, arrays: dict[str, NDArray[Any]], parameter: torch.Tensor) -> Any:
    if name in arrays:
        return arrays[name].item()
    columns = arrays[f"{name}.values"].shape[1:]
    # Whatever a row is, what is gathered of its elements lies in a table of two axes.
    if columns not in ((), (parameter[:1].numel(),), tuple(parameter.shape[1:])):
        raise ValueError(f"The array '{name}.values' must have rows of one number or of as many as the parameter's.")
    table = lazy_zeros((len(parameter), *columns), dtype=parameter.dtype)
    unpack_table(name, arrays, table.numpy())
    return table.to(parameter.device)


def check_same_training(estimator: Any, model: Any, corpus: TrainingData, passes: EpochCheckpoints) -> None:
    """Check that going on gives what the training would have given without an interruption."""
    folder = f"{type(estimator).__name__}: checkpoint_dir={str(passes.folder)!r}"
    if corpus.tokenizer.vocabulary.words != model._tokenizer.vocabulary.words or estimator.tree != model.tree:
        raise ValueError(
            f"{folder} holds a training on other words or with another tree. Give the same sentences, vocabulary and "
            "tree as then, or another folder."
        )
    if model._trained_on not in (None, corpus.windows.digest()):
        raise ValueError(
            f"{folder} holds a training on other sentences. Give the same ones in the same order, or another folder; "
            "each fold of a cross-validation needs a folder of its own, or none."
        )
    history, first = model.history_, model._first_epoch
    if any(("valid_loss" in entry) != (corpus.valid_windows is not None) for entry in history[first:]):
        now, then = ("with", "without") if corpus.valid_windows is not None else ("without", "with")
        raise ValueError(
            f"{folder} holds a training {then} validation sentences, and it was to go on {now} them. Give X_valid and "
            "early_stopping as then, or another folder."
        )
    best = best_epoch(history, first)
    if estimator.early_stopping and best not in passes.numbers():
        raise ValueError(
            f"{folder} lacks {passes.path(best).name}, the best pass, which early_stopping=True returns to. Train anew "
            "in another folder with keep='best' or 'all', or set early_stopping=False and give the same X_valid."
        )


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
    transfer_state(net.optimizer_, optimizer)
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
        n_batches = len(WindowBatches(WindowDataset(windows), plan.batch_size))
        net.callbacks.append(("linear_schedule", LinearSchedule(plan.max_epochs * n_batches, n_done * n_batches)))
    if valid_windows is not None:
        net.callbacks += _measuring_callbacks(plan, first, {} if interrupted is None else interrupted.best_weights)
    if plan.log_every is not None:
        some = None if valid_windows is None else valid_windows.evenly_spaced(_LOGGED_WINDOWS)
        net.callbacks.append(("step_log", StepLog(plan.log_every, some, log, show=plan.verbose > 1)))
    if last_callback is not None:
        net.callbacks.append(("last", last_callback))
    net.initialize_callbacks()
    if plan.verbose > 2:
        print(_describe(net, windows, valid_windows, plan))
    net.train_split = None if valid_windows is None else predefined_split(WindowDataset(valid_windows))
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
