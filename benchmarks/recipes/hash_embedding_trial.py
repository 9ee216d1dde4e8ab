"""One trial of a hash-embedding experiment: a network that is trained, tested and timed."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from benchmarks.recipes.hash_embedding_pipeline import (
    N_FEATURES,
    OnProgress,
    make_network,
    make_ngram_counter,
    make_pipeline,
)
from benchmarks.recipes.hash_embedding_settings import (
    DataSettings,
    HashEmbeddingSettings,
    NetworkSettings,
)
from benchmarks.recipes.text_sets import TextSet
from benchmarks.recipes.texts import find_labeled_texts
from benchmarks.runner.recipe import Result

_VALIDATION_FRACTION = 0.1  # of a grid search without folds
_CHUNK_SIZE = 2**17  # rows with n-grams dropped at once, which takes 50 bytes per n-gram


class CountedTexts(NamedTuple):
    """N-gram counts of training and test texts, and the seconds that counting took."""

    train: Any
    train_labels: NDArray[np.str_]
    train_seconds: float
    test: Any
    test_labels: NDArray[np.str_]
    test_seconds: float


def read_texts(settings: DataSettings, seed: int) -> TextSet:
    """Read the dataset of an experiment, or a sample of it."""
    texts = find_labeled_texts(settings.dataset, settings.data)
    return TextSet(
        *_sample(texts.train_texts, texts.train_labels, settings.n_train, seed),
        *_sample(texts.test_texts, texts.test_labels, settings.n_test, 0),
    )


def _sample(
    texts: list[str], labels: NDArray[np.str_], n_rows: int, seed: int
) -> tuple[list[str], NDArray[np.str_]]:
    """Return random rows in their original order; 0 means all rows."""
    if not 0 < n_rows < len(texts):
        return texts, labels
    rows = np.sort(np.random.RandomState(seed).permutation(len(texts))[:n_rows])
    return [texts[row] for row in rows], labels[rows]


def count_texts(
    settings: NetworkSettings, texts: TextSet, n_features: int = N_FEATURES
) -> CountedTexts:
    """Count the n-grams of a dataset; a dictionary is one of its training texts."""
    counter = make_ngram_counter(settings, n_features)
    started = perf_counter()
    train = counter.fit_transform(texts.train_texts)
    trained = perf_counter()
    test = counter.transform(texts.test_texts)
    ended = perf_counter()
    return CountedTexts(
        train, texts.train_labels, trained - started, test, texts.test_labels, ended - trained
    )


def cross_validate_value(
    settings: HashEmbeddingSettings,
    parameter: str,
    value: int,
    texts: TextSet,
    seed: int,
    folder: Path,
    on_progress: OnProgress | None = None,
) -> Result:
    """Cross-validate one value of a parameter on the training rows."""
    grid: dict[str, list[Any]] = {f"network__classifier__{parameter}": [value]}
    if parameter == "n_embeddings":
        grid["network__cut__kw_args"] = [{"n": value}]
    # One search per value instead of one for all, so that an interrupted run keeps its finished
    # values.
    search = GridSearchCV(
        make_pipeline(settings, seed, folder, on_progress),
        grid,
        scoring="accuracy",
        cv=_splitter(settings.folds, texts.train_labels, seed),
        refit=False,
        error_score="raise",
    )
    # Next to the cached counts, joblib writes the repr of the arguments: an array's is short, a
    # list's holds all texts.
    search.fit(np.array(texts.train_texts, dtype=object), texts.train_labels)
    scores = search.cv_results_
    return {
        "part": "choice",
        "parameter": parameter,
        "value": value,
        "accuracy": float(scores["mean_test_score"][0]),
        "folds": [float(scores[f"split{fold}_test_score"][0]) for fold in range(settings.folds)],
        "seconds": float(scores["mean_fit_time"][0] + scores["mean_score_time"][0])
        * settings.folds,
    }


def _splitter(n_folds: int, labels: NDArray[np.str_], seed: int) -> Any:
    if n_folds > 1:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() > 1 and len(labels) * _VALIDATION_FRACTION >= len(counts):
        return StratifiedShuffleSplit(1, test_size=_VALIDATION_FRACTION, random_state=seed)
    # too few rows of a class to stratify
    return ShuffleSplit(1, test_size=_VALIDATION_FRACTION, random_state=seed)


def train_and_test(
    settings: HashEmbeddingSettings,
    counted: CountedTexts,
    seed: int,
    on_progress: OnProgress | None = None,
) -> tuple[Result, NDArray[np.float64]]:
    """Train and test a network; return the result and the class probabilities of the test rows."""
    network = make_network(settings, seed, on_progress)
    started = perf_counter()
    network.fit(counted.train, counted.train_labels)
    trained = perf_counter()
    probabilities = network.predict_proba(counted.test)
    ended = perf_counter()
    classifier = network[-1]
    valid_accuracies = [epoch["valid_acc"] for epoch in classifier.history_ if "valid_acc" in epoch]
    n_train = counted.train.shape[0]
    return {
        "accuracy": accuracy_of(classifier.classes_, probabilities, counted.test_labels),
        "valid_accuracy": max(valid_accuracies, default=None),
        "train_accuracy": _accuracy_under_dropout(network, counted, settings.ngram_dropout, seed),
        "device": str(classifier.net_.device),
        "n_parameters": int(classifier.n_parameters_),
        "n_train": n_train,
        "n_test": len(counted.test_labels),
        "n_classes": len(classifier.classes_),
        "epochs": len(classifier.history_),
        "count_seconds": counted.train_seconds,
        "fit_seconds": trained - started,
        "seconds_per_row": (counted.train_seconds + trained - started) / n_train,
        "test_seconds": counted.test_seconds + ended - trained,
    }, probabilities


def accuracy_of(
    classes: NDArray[Any], probabilities: NDArray[np.float64], labels: NDArray[np.str_]
) -> float:
    """Return the accuracy of the most probable classes."""
    return float(accuracy_score(labels, classes[probabilities.argmax(axis=1)]))


def _accuracy_under_dropout(
    network: Any, counted: CountedTexts, limits: tuple[int, ...], seed: int
) -> float:
    """Return the accuracy on training rows with n-gram dropout, as in training."""
    random_state = np.random.RandomState(seed)
    n_correct = 0
    for first in range(0, len(counted.train_labels), _CHUNK_SIZE):
        rows = slice(first, first + _CHUNK_SIZE)
        X = (
            drop_ngrams(counted.train[rows], limits, random_state)
            if limits
            else counted.train[rows]
        )
        n_correct += int(np.sum(network.predict(X) == counted.train_labels[rows]))
    return n_correct / len(counted.train_labels)


def drop_ngrams(X: Any, limits: tuple[int, ...], random_state: np.random.RandomState) -> csr_array:
    """Keep a random number of each row's columns between the limits, as n-gram dropout does."""
    lengths = np.diff(X.indptr)
    n_kept = np.minimum(random_state.randint(limits[0], limits[1] + 1, size=len(lengths)), lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((random_state.random_sample(len(rows)), rows))
    rank = np.arange(len(rows)) - np.repeat(X.indptr[:-1], lengths)
    kept = np.sort(order[rank < np.repeat(n_kept, lengths)])
    return csr_array(
        (X.data[kept], X.indices[kept], np.concatenate(([0], np.cumsum(n_kept)))), shape=X.shape
    )
