"""Whether the training in a folder is the one that is to be taken up."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.estimators._language_corpus import LanguageCorpus
from sklearn_hashnlp.estimators._pass_folders import PassFolders, best_epoch


def check_same_training(estimator: Any, model: Any, corpus: LanguageCorpus, passes: PassFolders) -> None:
    """Check that going on gives what the training would have given without an interruption."""
    folder = f"{type(estimator).__name__}: checkpoint_dir={str(passes.folder)!r}"
    if corpus.reader.vocabulary.words != model._reader.vocabulary.words or estimator.tree != model.tree:
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
