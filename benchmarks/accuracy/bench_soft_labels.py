"""Soft labels: the probabilities of a strong linear model as targets of the text classifier, against plain labels.

The linear model, TF-IDF of words 1-2 and logistic regression, is trained on all training rows; its probabilities of a
row are from a model that was not trained on it. The text classifier is trained on some of the rows, with the labels of
the data, with the predicted labels of the linear model, and with its probabilities. Accuracy on the test rows, five
seeds.

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

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import TITLES
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.text._count_ngrams import TOKENS

RESULT = "soft_labels.json"
PAGE = "classifier.md"
SETS = ("ag_news", "sst2")
SIZES = (250, 1000, 4000)
TARGETS = ("labels of the data", "predicted labels", "predicted labels, soft_softmax", "probabilities")
SEEDS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    _, data, path = parser.read(arguments)
    result: dict[str, Any] = environment("sklearn-hashnlp", "numpy", "scikit-learn", "torch") | {"sets": {}}
    for name in SETS:
        train, test = data.train(name), data.test(name)
        labels, classes = np.array(train.labels), np.unique(train.labels)
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=TOKENS)
        linear = make_pipeline(words, LogisticRegression(C=30, max_iter=300))
        soft = cross_val_predict(linear, train.texts, labels, cv=3, method="predict_proba")
        predicted = classes[soft.argmax(axis=1)]
        one: dict[str, Any] = {"linear": 100 * float((predicted == labels).mean())}
        result["sets"][name] = one
        for size in SIZES:
            accuracies: dict[str, list[float]] = {target: [] for target in TARGETS}
            for seed in range(SEEDS):
                rows = np.random.default_rng(seed).permutation(len(labels))[:size]
                texts = [train.texts[row] for row in rows]
                certain = np.eye(len(classes))[soft[rows].argmax(axis=1)]
                distilled = TextClassifier(loss="soft_softmax", random_state=seed)
                models = (
                    TextClassifier(random_state=seed).fit(texts, labels[rows]),
                    TextClassifier(random_state=seed).fit(texts, predicted[rows]),
                    clone(distilled).fit(texts, certain, classes=classes),
                    distilled.fit(texts, soft[rows], classes=classes),
                )
                for target, model in zip(TARGETS, models, strict=True):
                    accuracies[target].append(100 * float((model.predict(test.texts) == np.array(test.labels)).mean()))
            one[str(size)] = accuracies
            print(name, size, {target: mean(values) for target, values in accuracies.items()}, flush=True)
            write_result(path, result)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and number of rows."""
    rows = [
        [TITLES[name], f"{one['linear']:.1f}", f"{size:,}"]
        + [f"{mean(one[str(size)][target]):.1f} ± {stdev(one[str(size)][target]):.1f}" for target in TARGETS]
        for name, one in result["sets"].items()
        for size in SIZES
        if str(size) in one
    ]
    return table(("data set", "linear model, %", "rows", *(f"{target}, %" for target in TARGETS)), rows)


TABLES = {"soft labels": markdown}
