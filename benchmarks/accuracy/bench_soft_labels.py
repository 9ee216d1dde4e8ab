"""Probabilities of a strong linear model as targets of TextClassifier.

The linear model, TF-IDF of words 1-2 and logistic regression, is trained on all training rows; its
probabilities of a training row are from a model that was not trained on it.

TextClassifier is trained on some rows, with the labels of the data, with the predicted labels of
the linear model, and with its probabilities. Accuracy on the test rows, five seeds.

    python -m benchmarks run bench_soft_labels --data DIR
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import TITLES, Rows
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.text._count_ngrams import TOKENS

RESULT = "soft_labels.json"
PAGE = "classifier.md"
SETS = ("ag_news", "sst2")
SIZES = (250, 1000, 4000)
TARGETS = (
    "labels of the data",
    "predicted labels",
    "predicted labels, soft_softmax",
    "probabilities",
)
SEEDS = 5
WORDS = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=TOKENS)


def main(arguments: Sequence[str] | None = None) -> None:
    _, data, path = BenchmarkParser(__doc__, RESULT).read(arguments)
    result: dict[str, Any] = {"labels": {}} | read_result(path)
    result |= environment("sklearn-hashnlp", "numpy", "scikit-learn", "torch")
    linear = make_pipeline(WORDS, LogisticRegression(C=30, max_iter=300))
    for name in SETS:
        train, test = data.train(name), data.test(name)
        soft = cross_val_predict(linear, train.texts, train.labels, cv=3, method="predict_proba")
        result["labels"][name] = with_labels(train, test, soft)
        print(name, result["labels"][name], flush=True)
        write_result(path, result)


def with_labels(train: Rows, test: Rows, soft: Any) -> dict[str, Any]:
    """Return the accuracies of TextClassifier, by number of rows and targets."""
    labels, classes = np.array(train.labels), np.unique(train.labels)
    predicted = classes[soft.argmax(axis=1)]
    result: dict[str, Any] = {"linear": 100 * float((predicted == labels).mean())}
    for size in SIZES:
        accuracies: dict[str, list[float]] = {target: [] for target in TARGETS}
        for seed in range(SEEDS):
            rows = np.random.default_rng(seed).permutation(len(labels))[:size]
            texts, certain = (
                [train.texts[row] for row in rows],
                np.eye(len(classes))[soft[rows].argmax(axis=1)],
            )
            distilled = TextClassifier(loss="soft_softmax", random_state=seed)
            models = (
                TextClassifier(random_state=seed).fit(texts, labels[rows]),
                TextClassifier(random_state=seed).fit(texts, predicted[rows]),
                clone(distilled).fit(texts, certain, classes=classes),
                distilled.fit(texts, soft[rows], classes=classes),
            )
            for target, model in zip(TARGETS, models, strict=True):
                accuracies[target].append(
                    100 * float((model.predict(test.texts) == np.array(test.labels)).mean())
                )
        result[str(size)] = accuracies
    return result


def labels_table(result: dict[str, Any]) -> str:
    """Return the table of labels: a row per data set and number of rows."""
    rows = [
        [TITLES[name], f"{one['linear']:.1f}", f"{size:,}"]
        + [
            f"{mean(one[str(size)][target]):.1f} ± {stdev(one[str(size)][target]):.1f}"
            for target in TARGETS
        ]
        for name, one in result.get("labels", {}).items()
        for size in SIZES
        if str(size) in one
    ]
    return (
        table(
            ("data set", "linear model, %", "rows", *(f"{target}, %" for target in TARGETS)), rows
        )
        if rows
        else ""
    )


TABLES = {"soft labels": labels_table}
