"""One network of a hash-embedding experiment: trained, tested and timed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from sklearn_hashnlp.datasets._train_test_files import TextSet, find_text_set, read_text_set
from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments.recipes._hash_embedding_pipeline import Moved, make_network, make_ngrams, make_pipeline
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import HashEmbeddingSettings

_HELD_OUT = 0.1  # where the rows are not folded
_ROWS_AT_A_TIME = 2**17  # whose n-grams are dropped, which takes fifty bytes each


class CountedTexts(NamedTuple):
    """The n-grams of training and test texts, and the seconds that counting took."""

    train: Any
    train_labels: NDArray[np.str_]
    train_seconds: float
    test: Any
    test_labels: NDArray[np.str_]
    test_seconds: float


def read_texts(settings: HashEmbeddingSettings, seed: int) -> TextSet:
    """Read the set of an experiment."""
    texts = read_text_set(find_text_set(settings.dataset, settings.data))
    return TextSet(
        *_draw(texts.train_texts, texts.train_labels, settings.n_train, seed),
        *_draw(texts.test_texts, texts.test_labels, settings.n_test, 0),
    )


def _draw(texts: list[str], labels: NDArray[np.str_], n_rows: int, seed: int) -> tuple[list[str], NDArray[np.str_]]:
    """Draw some of the rows, in their order; 0 takes all."""
    if not 0 < n_rows < len(texts):
        return texts, labels
    rows = np.sort(np.random.RandomState(seed).permutation(len(texts))[:n_rows])
    return [texts[row] for row in rows], labels[rows]


def count_texts(settings: HashEmbeddingSettings, texts: TextSet) -> CountedTexts:
    """Count the n-grams of a set, with a dictionary of its training texts where there is one."""
    ngrams = make_ngrams(settings)
    started = time.perf_counter()
    train = ngrams.fit_transform(texts.train_texts)
    between = time.perf_counter()
    test = ngrams.transform(texts.test_texts)
    ended = time.perf_counter()
    return CountedTexts(train, texts.train_labels, between - started, test, texts.test_labels, ended - between)


def try_value(
    settings: HashEmbeddingSettings,
    parameter: str,
    value: int,
    texts: TextSet,
    seed: int,
    folder: Path,
    moved: Moved | None = None,
) -> Result:
    """Judge a value of a parameter by cross-validation on the training rows."""
    grid: dict[str, list[Any]] = {f"network__classifier__{parameter}": [value]}
    if parameter == "n_embeddings":
        grid["network__cut__kw_args"] = [{"n": value}]
    # A search for each value, and not one for all, so that what was found is kept whenever the run ends.
    search = GridSearchCV(
        make_pipeline(settings, seed, folder, moved),
        grid,
        scoring="accuracy",
        cv=_folds(settings.folds, texts.train_labels, seed),
        refit=False,
        error_score="raise",
    )
    # As an array, of which joblib notes a few texts beside the counts that it keeps; of a list it would note them all.
    search.fit(np.array(texts.train_texts, dtype=object), texts.train_labels)
    found = search.cv_results_
    return {
        "part": "choice",
        "parameter": parameter,
        "value": value,
        "accuracy": float(found["mean_test_score"][0]),
        "folds": [float(found[f"split{fold}_test_score"][0]) for fold in range(settings.folds)],
        "seconds": float(found["mean_fit_time"][0] + found["mean_score_time"][0]) * settings.folds,
    }


def _folds(n_folds: int, labels: NDArray[np.str_], seed: int) -> Any:
    if n_folds > 1:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() > 1 and len(labels) * _HELD_OUT >= len(counts):
        return StratifiedShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)
    return ShuffleSplit(1, test_size=_HELD_OUT, random_state=seed)  # not every class can be on both sides


def train_and_test(
    settings: HashEmbeddingSettings, counted: CountedTexts, seed: int, moved: Moved | None = None
) -> tuple[Result, NDArray[np.float64]]:
    """Train a network on the training rows and test it."""
    network = make_network(settings, seed, moved)
    started = time.perf_counter()
    network.fit(counted.train, counted.train_labels)
    between = time.perf_counter()
    probabilities = network.predict_proba(counted.test)
    ended = time.perf_counter()
    classifier = network[-1]
    held_out = [epoch["valid_acc"] for epoch in classifier.history_ if "valid_acc" in epoch]
    n_train = counted.train.shape[0]
    return {
        "accuracy": accuracy_of(classifier.classes_, probabilities, counted.test_labels),
        "valid_accuracy": max(held_out, default=None),
        "train_accuracy": _accuracy_as_trained(network, counted, settings.ngram_dropout, seed),
        "device": str(classifier.net_.device),
        "n_parameters": int(classifier.n_parameters_),
        "n_train": n_train,
        "n_test": len(counted.test_labels),
        "n_classes": len(classifier.classes_),
        "epochs": len(classifier.history_),
        "count_seconds": counted.train_seconds,
        "fit_seconds": between - started,
        "seconds_a_row": (counted.train_seconds + between - started) / n_train,
        "test_seconds": counted.test_seconds + ended - between,
    }, probabilities


def accuracy_of(classes: NDArray[Any], probabilities: NDArray[np.float64], labels: NDArray[np.str_]) -> float:
    """Return the share of rows whose most probable class is the right one."""
    return float(accuracy_score(labels, classes[probabilities.argmax(axis=1)]))


def _accuracy_as_trained(network: Any, counted: CountedTexts, kept: tuple[int, ...], seed: int) -> float:
    """Return the accuracy on training rows that have lost n-grams as they do in training."""
    random_state = np.random.RandomState(seed)
    n_right = 0
    for first in range(0, len(counted.train_labels), _ROWS_AT_A_TIME):
        rows = slice(first, first + _ROWS_AT_A_TIME)
        X = drop_ngrams(counted.train[rows], kept, random_state) if kept else counted.train[rows]
        n_right += int(np.sum(network.predict(X) == counted.train_labels[rows]))
    return n_right / len(counted.train_labels)


def drop_ngrams(X: Any, kept: tuple[int, ...], random_state: np.random.RandomState) -> csr_array:
    """Keep a random number of each row's columns, as training does."""
    lengths = np.diff(X.indptr)
    wanted = np.minimum(random_state.randint(kept[0], kept[1] + 1, size=len(lengths)), lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((random_state.random_sample(len(rows)), rows))
    rank = np.arange(len(rows)) - np.repeat(X.indptr[:-1], lengths)
    chosen = np.sort(order[rank < np.repeat(wanted, lengths)])
    return csr_array((X.data[chosen], X.indices[chosen], np.concatenate(([0], np.cumsum(wanted)))), shape=X.shape)
