"""Probabilities and scores of a strong linear model as targets: TextClassifier and TextRegressor.

The linear model, TF-IDF of words 1-2 and logistic regression, is trained on all training rows; its probabilities of a
training row are from a model that was not trained on it.

labels   TextClassifier is trained on some rows, with the labels of the data, with the predicted labels of the linear
         model, and with its probabilities. Accuracy on the test rows, five seeds.
numbers  TextRegressor and Ridge on TF-IDF (alpha by cross-validation) are trained on all rows, with the log-odds of the
         linear model as targets (R2 of its log-odds of the test rows), and with 0 and 1 (area under the ROC curve,
         beside that of TextClassifier).

    python -m benchmarks run bench_soft_labels --data DIR
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import TITLES, Rows
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier, TextRegressor
from sklearn_hashnlp.text._count_ngrams import TOKENS

RESULT = "soft_labels.json"
PAGE = "classifier.md"
LABELS, NUMBERS = ("ag_news", "sst2"), ("sst2", "imdb")
SIZES = (250, 1000, 4000)
TARGETS = ("labels of the data", "predicted labels", "predicted labels, soft_softmax", "probabilities")
SEEDS = 5
WORDS = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=TOKENS)
ALPHAS = {"ridge__alpha": [0.1, 0.3, 1.0, 3.0, 10.0]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--part", ("labels", "numbers"))
    options, data, path = parser.read(arguments)
    result: dict[str, Any] = {"labels": {}, "numbers": {}} | read_result(path)
    result |= environment("sklearn-hashnlp", "numpy", "scikit-learn", "torch")
    linear = make_pipeline(WORDS, LogisticRegression(C=30, max_iter=300))
    for part, names, measure in (("labels", LABELS, with_labels), ("numbers", NUMBERS, with_numbers)):
        for name in names if part in options.part else ():
            train, test = data.train(name), data.test(name)
            soft = cross_val_predict(linear, train.texts, train.labels, cv=3, method="predict_proba")
            result[part][name] = measure(train, test, soft, linear)
            print(name, result[part][name], flush=True)
            write_result(path, result)


def with_labels(train: Rows, test: Rows, soft: Any, _linear: Any) -> dict[str, Any]:
    """Return the accuracies of TextClassifier, by number of rows and targets."""
    labels, classes = np.array(train.labels), np.unique(train.labels)
    predicted = classes[soft.argmax(axis=1)]
    result: dict[str, Any] = {"linear": 100 * float((predicted == labels).mean())}
    for size in SIZES:
        accuracies: dict[str, list[float]] = {target: [] for target in TARGETS}
        for seed in range(SEEDS):
            rows = np.random.default_rng(seed).permutation(len(labels))[:size]
            texts, certain = [train.texts[row] for row in rows], np.eye(len(classes))[soft[rows].argmax(axis=1)]
            distilled = TextClassifier(loss="soft_softmax", random_state=seed)
            models = (
                TextClassifier(random_state=seed).fit(texts, labels[rows]),
                TextClassifier(random_state=seed).fit(texts, predicted[rows]),
                clone(distilled).fit(texts, certain, classes=classes),
                distilled.fit(texts, soft[rows], classes=classes),
            )
            for target, model in zip(TARGETS, models, strict=True):
                accuracies[target].append(100 * float((model.predict(test.texts) == np.array(test.labels)).mean()))
        result[str(size)] = accuracies
    return result


def with_numbers(train: Rows, test: Rows, soft: Any, linear: Any) -> dict[str, Any]:
    """Return R2 and the area under the curve of both regressors."""
    odds = clone(linear).fit(train.texts, train.labels).decision_function(test.texts)
    second = np.unique(train.labels)[1]
    is_second, truth = (np.array(rows.labels) == second for rows in (train, test))
    classifier = TextClassifier(random_state=0).fit(train.texts, train.labels).predict_proba(test.texts)[:, 1]
    result: dict[str, Any] = {"TextClassifier": {"AUC": float(roc_auc_score(truth, classifier))}}
    ridge = GridSearchCV(make_pipeline(WORDS, Ridge(solver="sparse_cg", tol=1e-4)), ALPHAS, cv=3)
    for name, model in (("TextRegressor", TextRegressor(random_state=0)), ("TF-IDF, Ridge", ridge)):
        log_odds = clone(model).fit(train.texts, np.diff(np.log(soft), axis=1)[:, 0]).predict(test.texts)
        numbers = clone(model).fit(train.texts, is_second.astype(float)).predict(test.texts)
        result[name] = {"R2": float(r2_score(odds, log_odds)), "AUC": float(roc_auc_score(truth, numbers))}
    return result


def labels_table(result: dict[str, Any]) -> str:
    """Return the table of labels: a row per data set and number of rows."""
    rows = [
        [TITLES[name], f"{one['linear']:.1f}", f"{size:,}"]
        + [f"{mean(one[str(size)][target]):.1f} ± {stdev(one[str(size)][target]):.1f}" for target in TARGETS]
        for name, one in result.get("labels", {}).items()
        for size in SIZES
        if str(size) in one
    ]
    return table(("data set", "linear model, %", "rows", *(f"{target}, %" for target in TARGETS)), rows) if rows else ""


def numbers_table(result: dict[str, Any]) -> str:
    """Return the table of numbers: a row per data set and model."""
    rows = [
        [TITLES[name], model, *(f"{one[key]:.3g}" if key in one else "" for key in ("R2", "AUC"))]
        for name, models in result.get("numbers", {}).items()
        for model, one in models.items()
    ]
    return table(("data set", "model", "R² of the log-odds", "AUC"), rows) if rows else ""


TABLES = {"soft labels": labels_table, "numbers": numbers_table}
