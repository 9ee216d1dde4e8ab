"""Training of a sentence encoder: its progress, learning rate, log of losses and scores, and checkpoints."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.sentences._bundles import as_network, as_objectives
from sklearn_hashnlp.sentences._net import SentenceNet
from sklearn_hashnlp.training._callbacks import StepLog, callbacks_of_kind
from sklearn_hashnlp.training._settings import TrainingSettings

_BEST = "best."  # prefix of the names of the best weights
_WARM_UP = 0.02  # share of a training in which the learning rate rises

# Parameters that may change after an interruption: they do not affect the weights, since seeds have been drawn.
_FREE = {
    *("callbacks", "checkpoint_dir", "checkpoint_every", "device", "n_jobs", "random_state", "resume", "scoring"),
    *("sentence_splitter", "verbose"),
}
_BUNDLES = {"network": as_network, "objectives": as_objectives}


@dataclass
class TrainingState:
    """Progress of a training: the content of a checkpoint besides weights and optimizer."""

    epoch: int = 0
    batch: int = 0
    losses: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    best_score: float | None = None  # of ``scoring`` so far
    best_weights: dict[str, Tensor] = field(default_factory=dict)  # with it

    def note(self, score: float, net: SentenceNet) -> None:
        """Keep the weights if the score is the best so far; NaN never is."""
        if not math.isnan(score) and (self.best_score is None or score > self.best_score):
            self.best_score, self.best_weights = score, trained_weights(net)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values, and the best weights as arrays."""
        values = asdict(self)
        del values["best_weights"]
        return values, {f"{_BEST}{name}": value.cpu().numpy().copy() for name, value in self.best_weights.items()}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TrainingState:
        """Load the state that :meth:`to_state` returned."""
        best = {
            name.removeprefix(_BEST): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith(_BEST)
        }
        return cls(**values, best_weights=best)


class WarmUpAndDecay(Callback):  # type: ignore[misc]  # skorch has no types
    """Warm up the learning rate in the first steps and decay it linearly to zero; or keep it constant."""

    def __init__(self, decays: bool) -> None:
        self.decays = decays

    def on_batch_begin(self, net: Any, batch: Any = None, **_: Any) -> None:
        """Set the learning rate of the next step."""
        progress = batch.progress
        factor = min(1.0, progress / _WARM_UP + 0.05) * (1 - progress) if self.decays else 1.0
        for group in net.optimizer_.param_groups:
            group["lr"] = net.lr * factor * group.get("gain", 1.0)


class RecordTraining(Callback):  # type: ignore[misc]  # skorch has no types
    """Record the progress of the training, its losses, and the scores of the model."""

    def __init__(
        self,
        state: TrainingState,
        log: list[dict[str, Any]],
        *,
        every: int | None,  # steps between entries of the log; None is an epoch
        scoring: Callable[[], float] | None,
        show: bool,
    ) -> None:
        self.state = state
        self.log = log
        self.every = every
        self.scoring = scoring
        self.show = show

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Restore the batches before an interruption."""
        for loss, size in zip(self.state.losses, self.state.sizes, strict=True):
            net.history[-1]["batches"].append({"train_loss": loss, "train_batch_size": size})

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Record a step."""
        state, done = self.state, net.history[-1]["batches"][-1]
        state.losses.append(done["train_loss"])
        state.sizes.append(done["train_batch_size"])
        state.batch = batch.number + 1
        if self.every is not None and state.batch % self.every == 0:
            self._add_entry(net)

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **_: Any) -> None:
        """Go to the next epoch."""
        state = self.state
        if self.every is None or state.batch % self.every:
            self._add_entry(net)
        if state.batch == dataset_train.n_batches:  # else a time limit was reached
            state.epoch, state.batch, state.losses, state.sizes = state.epoch + 1, 0, [], []

    def _add_entry(self, net: Any) -> None:
        state, every = self.state, self.every or len(self.state.losses)
        recent = slice(-((state.batch - 1) % every + 1), None)
        losses, sizes = state.losses[recent], state.sizes[recent]
        mean = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
        entry: dict[str, Any] = {"stage": "sentences", "epoch": state.epoch + 1, "step": state.batch}
        entry["train_loss"] = mean
        if self.scoring is not None:
            net.module_.eval()
            entry["score"] = self.scoring()
            state.note(entry["score"], net)
        self.log.append(entry)
        if self.show:
            print(", ".join(f"{key} {value:.5g}" if key != "stage" else value for key, value in entry.items()))


def take_step_logs(settings: TrainingSettings, log: list[dict[str, Any]]) -> tuple[TrainingSettings, int | None]:
    """Return the settings without StepLog callbacks, which get the log, and the steps between its entries."""
    step_logs = callbacks_of_kind(settings.callbacks, StepLog)
    for step_log in step_logs:
        step_log.check()
        step_log.log_ = log
    others = tuple(each for each in settings.callbacks if not callbacks_of_kind([each], StepLog))
    return replace(settings, callbacks=others), min((int(each.every) for each in step_logs), default=None)


def score_of(estimator: Any) -> float:
    """Return the validation score of an encoder."""
    score = estimator.scoring(estimator)
    try:
        return float(score)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{type(estimator).__name__}: scoring must return a number, higher is better; got {score!r:.60} "
            f"({type(score).__name__})."
        ) from error


def trained_weights(net: SentenceNet) -> dict[str, Tensor]:
    """Copy the weights that training changes."""
    return {name: value.detach().clone() for name, value in net.module_.named_parameters() if value.requires_grad}


def load_trained_weights(net: SentenceNet, weights: dict[str, Tensor]) -> None:
    """Load the weights that :func:`trained_weights` returned."""
    parameters = dict(net.module_.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)


def check_free(estimator: Any) -> None:
    """Check that no model is overwritten."""
    folder = Path(estimator.checkpoint_dir)
    if folder.is_file():
        raise FileExistsError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is a file. Give a folder."
        )
    if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise ValueError(
            f"{type(estimator).__name__}: checkpoint_dir={os.fspath(folder)!r} is not empty. Set resume=True to resume "
            "the training in it, or give another folder, or delete it."
        )


def read_checkpoint(estimator: Any) -> Any:
    """Load the training in a folder."""
    name, folder = type(estimator).__name__, Path(estimator.checkpoint_dir)
    try:
        model = load_model(folder)
    except FileNotFoundError:
        return None
    if type(model) is not type(estimator):
        raise ValueError(f"{name}: checkpoint_dir={os.fspath(folder)!r} has a {type(model).__name__}.")
    wanted, free = estimator.get_params(deep=False), _FREE
    if isinstance(wanted["random_state"], Integral) and model.random_state is not None:
        free = _FREE - {"random_state"}  # a different seed asks for a different encoder
    for parameter, value in model.get_params(deep=False).items():
        if parameter not in free and _plain(parameter, value) != _plain(parameter, wanted[parameter]):
            raise ValueError(
                f"{name} cannot resume the training in checkpoint_dir={os.fspath(folder)!r}: its {parameter} is "
                f"{value!r} and not {wanted[parameter]!r}. Set it back, or give another folder."
            )
    if estimator.device not in ("auto", model.net_.device):
        raise ValueError(
            f"{name}(device={estimator.device!r}) cannot resume a training that is on {model.net_.device!r}. Set "
            f"device={model.net_.device!r}, or give another folder."
        )
    return model


def _plain(name: str, value: Any) -> Any:
    """Return the value of a parameter with lists for tuples, and a bundle as its fields."""
    if name in _BUNDLES:
        return {field: _plain(field, own) for field, own in _BUNDLES[name](value).get_params().items()}
    return list(value) if isinstance(value, tuple) else value
