"""The classifiers that bench_robustness.py compares, and the choice of their hyper-parameters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.common import fasttext_baseline
from benchmarks.common.classifier_accuracy import linear_model
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.fasttext_peers import lines_of
from benchmarks.common.fasttext_processes import Process
from sklearn_hashnlp import (
    CharNgramFeaturizer,
    SGNNClassifier,
    SGNNProjector,
    make_text_classifier,
)
from sklearn_hashnlp.text import distort_texts

RATES = (0.0, 0.02, 0.05, 0.1, 0.2)
FASTTEXT, AUGMENTED = "fasttext", "-augmented"
MODELS = {
    "sgnn": "SGNN",
    "sgnn-augmented": "SGNN, augmented",
    "hash": "hash embeddings",
    "hash-augmented": "hash embeddings, augmented",
    "svm": "TF-IDF + LinearSVC",
    "svm-augmented": "TF-IDF + LinearSVC, augmented",
    FASTTEXT: "fastText",
}
# The plain classifier is chosen by its accuracy on validation rows without errors, then the
# augmented one by its mean accuracy on the same rows at all error rates.
PLAIN: dict[str, list[dict[str, Any]]] = {
    "sgnn": [{"ngram_range": ngram_range} for ngram_range in ((1, 3), (1, 4), (2, 5))],
    "hash": [{"features": features} for features in ("words", "words+characters", "characters")],
    "svm": [
        {"features": features, "lowercase": lowercase}
        for features in ("svm", "svm-punctuation", "svm-characters")
        for lowercase in (True, False)
    ],
}
COPIES = [{"distortion": distortion, "n_copies": 3} for distortion in (0.05, 0.1, 0.2)]
SGNN_EPOCHS = 20  # divided by the number of copies, so that the number of steps is the same
_FIRST_SEED_OF_ERRORS = 1000  # so that the errors differ from the training copies

Progress = Callable[[str], None]
Predict = Callable[[list[str]], Sequence[str]]


def plain_model(name: str, model: str, setting: dict[str, Any], seed: int) -> Any:
    if model == "svm":
        return linear_model(name, setting["features"], setting["lowercase"])
    if model == "hash":
        return make_text_classifier(features=setting["features"], random_state=seed, n_jobs=1)
    return make_pipeline(
        CharNgramFeaturizer(ngram_range=tuple(setting["ngram_range"])),
        SGNNProjector(output="packed"),
        SGNNClassifier(
            packed=True,
            max_epochs=SGNN_EPOCHS // (1 + setting.get("n_copies", 0)),
            random_state=seed,
        ),
    )


def fitted_model(name: str, model: str, setting: dict[str, Any], train: Rows, seed: int) -> Any:
    """Train a classifier, also on distorted copies of the texts if the setting has some."""
    texts, n_copies = list(train.texts), setting.get("n_copies", 0)
    for seed_of_copy in np.random.RandomState(seed).randint(2**31 - 1, size=n_copies).tolist():
        texts += distort_texts(train.texts, setting["distortion"], random_state=seed_of_copy)
    plain = plain_model(name, model.removesuffix(AUGMENTED), setting, seed)
    return plain.fit(texts, list(train.labels) * (1 + n_copies))


def curve(predict: Predict, rows: Rows, seed: int, rates: Sequence[float] = RATES) -> list[float]:
    """Return the accuracy in percent at each rate of typing errors."""
    labels = np.asarray(rows.labels)
    return [
        100 * float(np.mean(np.asarray(predict(_distorted(rows.texts, rate, seed))) == labels))
        for rate in rates
    ]


def _distorted(texts: list[str], rate: float, seed: int) -> list[str]:
    return distort_texts(texts, rate, random_state=_FIRST_SEED_OF_ERRORS + seed)


def choose_plain(
    name: str, model: str, data: DataFolder, progress: Progress
) -> list[dict[str, Any]]:
    """Evaluate a plain classifier's settings on validation rows without errors, best first."""
    return _evaluate(name, model, PLAIN[model], (0.0,), data, progress)


def choose_augmented(
    name: str, model: str, plain: dict[str, Any], data: DataFolder, progress: Progress
) -> list[dict[str, Any]]:
    """Evaluate error rates of the copies on validation rows at all rates; the best comes first."""
    return _evaluate(name, model, [plain | copies for copies in COPIES], RATES, data, progress)


def _evaluate(
    name: str,
    model: str,
    settings: Sequence[dict[str, Any]],
    rates: Sequence[float],
    data: DataFolder,
    progress: Progress,
) -> list[dict[str, Any]]:
    train, valid = data.train_valid(name)
    trials = []
    for setting in settings:
        measured = curve(fitted_model(name, model, setting, train, 0).predict, valid, 0, rates)
        trials.append(setting | {"accuracy": float(np.mean(measured))})
        progress(f"{setting}: {trials[-1]['accuracy']:.2f} %")
    return sorted(trials, key=lambda one: -one["accuracy"])


def setting_of(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the best setting, without its accuracy."""
    return {key: value for key, value in trials[0].items() if key != "accuracy"}


def tested_curves(
    name: str, model: str, setting: dict[str, Any], data: DataFolder, seeds: int, progress: Progress
) -> list[list[float]]:
    """Train on all training rows and return the test accuracies at each rate, for each seed."""
    train, test = data.train(name), data.test(name)
    curves = []
    for seed in range(seeds):
        curves.append(curve(fitted_model(name, model, setting, train, seed).predict, test, seed))
        progress(f"seed {seed}: {' '.join(f'{one:.2f}' for one in curves[-1])}")
    return curves


def fasttext_curves(
    fasttext: Process, name: str, data: DataFolder, seeds: int, threads: int, progress: Progress
) -> tuple[dict[str, Any], list[dict[str, Any]], list[list[float]]]:
    """Choose fastText's texts, settings and subwords; return the settings, trials and curves."""
    trials: list[dict[str, Any]] = []
    for subwords in ({}, {"minn": 2, "maxn": 5}):
        fixed = fasttext_baseline.SMALLER | subwords
        measured = fasttext_baseline.choose(
            fasttext, data.train_valid(name), fixed, threads, progress
        )
        trials += [
            fixed | fasttext_baseline.best([one]) | {"accuracy": one["accuracy"]}
            for one in measured
        ]
    trials.sort(key=lambda one: (-one["accuracy"], one["epoch"]))
    setting = setting_of(trials)
    train, test = data.train(name), data.test(name)
    names = sorted(set(train.labels))
    curves = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        train_lines = lines_of(train.texts, setting["form"])
        fasttext_baseline.write_rows(path, train_lines, train.labels, names)
        for seed in range(seeds):
            fasttext_baseline.train(fasttext, path, setting, seed, threads)
            curves.append(
                [
                    fasttext_baseline.accuracy(
                        fasttext,
                        lines_of(_distorted(test.texts, rate, seed), setting["form"]),
                        test.labels,
                        names,
                    )
                    for rate in RATES
                ]
            )
            progress(f"seed {seed}: {' '.join(f'{one:.2f}' for one in curves[-1])}")
    return setting, trials, curves
