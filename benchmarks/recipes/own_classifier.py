"""Classifiers of the user's own, on the n-gram counts of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.recipes.hash_embedding_trial import CountedTexts
from benchmarks.runner.load_recipe import load_object
from benchmarks.runner.recipe import Result
from sklearn_hashnlp._clock import clock


def find_classifier(name: str) -> Callable[[], Any]:
    """Return the class or function that ``MODULE:NAME`` names."""
    found = load_object(name)
    if not callable(found):
        raise TypeError(
            f"The classifier {name} must be a class or function that is called without arguments and returns an object "
            f"with fit and predict, as scikit-learn's classifiers; it is {found!r}."
        )
    return found  # type: ignore[no-any-return]  # of the user's module


def train_classifier(name: str, counted: CountedTexts, seed: int) -> Result:
    """Train a classifier and test it; accuracies are of whole texts."""
    classifier = find_classifier(name)()
    if not all(callable(getattr(classifier, method, None)) for method in ("fit", "predict")):
        raise TypeError(f"The classifier {name} must return an object with fit and predict, not {classifier!r}.")
    if "random_state" in getattr(classifier, "get_params", dict)():
        classifier.set_params(random_state=seed)
    started = clock()
    classifier.fit(counted.train, counted.train_labels)
    seconds = clock() - started
    return {
        "accuracy": float(np.mean(classifier.predict(counted.test) == counted.test_labels)),
        "train_accuracy": float(np.mean(classifier.predict(counted.train) == counted.train_labels)),
        "n_parameters": None,
        "epochs": None,
        "fit_seconds": seconds,
    }
