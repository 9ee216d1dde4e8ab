"""Training a language model: seeds of its epochs, and checks before a training is resumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from sklearn_hashnlp.language._reader import TrainingData
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch


@dataclass(frozen=True)
class Resumed:
    """Where a training stood that is resumed."""

    first_epoch: int  # index in the net's history at which it began
    learning_rates: list[float]  # that it had come to
    best_weights: dict[str, Tensor]  # those of its best epoch, if they are to be returned to


def check_same_training(estimator: Any, model: Any, corpus: TrainingData, checkpoints: EpochCheckpoints) -> None:
    """Check that going on gives what the training would have given without an interruption."""
    folder = f"{type(estimator).__name__}: checkpoint_dir={str(checkpoints.folder)!r}"
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
            f"{folder} lacks {checkpoints.path(best).name}, the best epoch, which early_stopping=True returns to. "
            "Train anew in another folder with keep='best' or 'all', or set early_stopping=False and give the same "
            "X_valid."
        )
