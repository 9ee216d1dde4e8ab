"""Checkpoints and resumption of training: parameters, checks, and seeds that depend on the epoch only."""

from __future__ import annotations

from numbers import Integral
from os import PathLike, fspath
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback

from sklearn_hashnlp.language._reader import TrainingData
from sklearn_hashnlp.nn._layers import SeededDropout
from sklearn_hashnlp.training._bundles import Schedule
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch

_EPOCHS_KEPT = "best", "all"


def checkpoints_of(estimator: Any) -> EpochCheckpoints | None:
    """Return the checkpoints in ``checkpoint_dir``, a path or a pair of a path and the epochs to keep."""
    if estimator.checkpoint_dir is None:
        return None
    if isinstance(estimator.checkpoint_dir, tuple | list):
        folder, keep = estimator.checkpoint_dir
        return EpochCheckpoints(folder, keep_all=keep == "all")
    return EpochCheckpoints(estimator.checkpoint_dir)


def check_checkpoint_parameters(estimator: Any, schedule: Schedule) -> None:
    """Check ``checkpoint_dir`` and ``resume``."""
    name, folder = type(estimator).__name__, estimator.checkpoint_dir
    if isinstance(folder, tuple | list) and not (
        len(folder) == 2 and isinstance(folder[0], str | PathLike) and folder[1] in _EPOCHS_KEPT
    ):
        raise ValueError(
            f"The 'checkpoint_dir' parameter of {name} must be a path, or a tuple of a path and 'all' or 'best', the "
            f"epochs to keep. Got {folder!r} instead."
        )
    if estimator.resume and folder is None:
        raise ValueError(f"{name}(resume=True) needs checkpoint_dir, the folder of the training to continue.")
    if estimator.resume and schedule.average:
        raise ValueError(
            f"{name}(resume=True) cannot continue an average of weights, which checkpoints do not hold. Set "
            "schedule__average=False."
        )


def storable_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator with a path as a string, and without callbacks and generators."""
    parameters: dict[str, Any] = estimator.get_params(deep=False) | {"callbacks": None}
    if not isinstance(estimator.random_state, Integral):
        parameters["random_state"] = None
    folder = estimator.checkpoint_dir
    is_pair = isinstance(folder, tuple | list)
    return parameters | {"checkpoint_dir": (fspath(folder[0]), folder[1]) if is_pair else fspath(folder)}


def check_free(checkpoints: EpochCheckpoints, n_epochs: int, caller: str) -> None:
    """Raise an error if a folder has checkpoints of later epochs than ``n_epochs``."""
    later = [epoch for epoch in checkpoints.epochs() if epoch > n_epochs]
    if later:
        raise ValueError(
            f"{caller}: checkpoint_dir={str(checkpoints.folder)!r} holds {checkpoints.path(later[0]).name} of an "
            "earlier training. Set resume=True to continue it, or give another folder, or delete it."
        )


def check_same_training(estimator: Any, model: Any, corpus: TrainingData, checkpoints: EpochCheckpoints) -> None:
    """Check that the resumed training gives the result of an uninterrupted one."""
    folder = f"{type(estimator).__name__}: checkpoint_dir={str(checkpoints.folder)!r}"
    if estimator.optimizer != model.optimizer:
        raise ValueError(
            f"{folder} holds a training by optimizer={model.optimizer!r}, whose state {estimator.optimizer!r} cannot "
            "take over. Set the same optimizer, or give another folder."
        )
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
    if estimator.early_stopping and best not in checkpoints.epochs():
        raise ValueError(
            f"{folder} lacks {checkpoints.path(best).name}, the best epoch, which early_stopping restores. "
            "Train anew in another folder, or set early_stopping=False and give the same X_valid."
        )


class SeedEpochs(Callback):  # type: ignore[misc]  # skorch has no types
    """Seed the order and dropout of every epoch by the training's seed and the epoch's number."""

    def __init__(self, seed: int, generator: np.random.Generator) -> None:
        self.seed = seed
        self.generator = generator

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Seed the generators."""
        layers = _dropout_layers(net)
        order_seed, *seeds = np.random.SeedSequence((self.seed, len(net.history))).generate_state(1 + len(layers))
        self.generator.bit_generator.state = np.random.default_rng(order_seed).bit_generator.state
        for layer, seed in zip(layers, seeds, strict=True):
            if torch.device(net.device).type == "cpu":
                layer.generator = np.random.default_rng(seed)
            else:
                layer.generator = torch.Generator(net.device).manual_seed(int(seed))

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Remove the generators."""
        for layer in _dropout_layers(net):
            layer.generator = None


def _dropout_layers(net: Any) -> list[SeededDropout]:
    module = net.module_
    return [module.dropout, module.embedding_dropout, module.word_dropout]
