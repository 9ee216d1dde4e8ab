"""Resumption of training: checks, and seeds that depend on the epoch only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.language._reader import TrainingData
from sklearn_hashnlp.nn._layers import SeededDropout
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch


@dataclass(frozen=True)
class Resumed:
    """State of the training that is resumed."""

    first_epoch: int  # index of its first epoch in the net's history
    learning_rates: list[float]  # current rates of the parameter groups
    planned_epochs: int  # number of epochs that the schedule was planned for
    best_weights: dict[str, Tensor]  # weights of the best epoch, if they may be restored


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
