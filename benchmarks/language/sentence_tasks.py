"""Evaluation of frozen sentence vectors: human similarity scores and a linear classifier."""

from __future__ import annotations

import csv
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import normalize

from benchmarks.common.data import DataFolder, Rows, sample, split
from sklearn_hashnlp.text import split_sentences

SETS = ("trec", "sst2", "imdb")
C_OF_THE_REPORT = 1e3
CHOICES = (1.0, 10.0, 100.0, 1e3)
MAX_CHOICE_ROWS = 5_000  # a larger training set is sampled for choosing C
ITERATIONS = 1_000
AT_ONCE = 1_000  # texts per batch


class Pairs(NamedTuple):
    """Pairs of sentences and their human similarity scores, from 0 to 5."""

    left: list[str]
    right: list[str]
    scores: NDArray[np.float64]


def read_pairs(data: DataFolder) -> Pairs:
    """Read the development set of the STS benchmark, or a random sample of it in the same order."""
    with (data.path / "stsb" / "dev.csv").open(encoding="utf-8", newline="") as file:
        measured = sample(list(csv.DictReader(file)), data.rows)
    return Pairs(
        [row["sentence1"] for row in measured],
        [row["sentence2"] for row in measured],
        np.array([float(row["score"]) for row in measured]),
    )


def first_half(pairs: Pairs) -> Pairs:
    """Return the first half of the pairs, the validation set."""
    half = slice(0, len(pairs.scores) // 2)
    return Pairs(pairs.left[half], pairs.right[half], pairs.scores[half])


def correlation(model: Any, pairs: Pairs) -> float:
    """Return Spearman's rank correlation of cosine similarities and human scores, times 100."""
    return 100 * float(spearmanr(cosines(model, pairs), pairs.scores).statistic)


def correlations(model: Any, pairs: Pairs) -> dict[str, float]:
    """Return the rank correlations of both halves and of the whole."""
    measured, half = cosines(model, pairs), len(pairs.scores) // 2
    parts = {"first half": slice(0, half), "second half": slice(half, None), "whole": slice(None)}
    return {
        name: 100 * float(spearmanr(measured[part], pairs.scores[part]).statistic)
        for name, part in parts.items()
    }


def cosines(model: Any, pairs: Pairs) -> NDArray[np.floating]:
    left, right = (normalize(model.transform(texts)) for texts in (pairs.left, pairs.right))
    products = left.multiply(right) if sp.issparse(left) else left * right
    return np.asarray(products.sum(axis=1)).ravel()


def classify(model: Any, name: str, data: DataFolder) -> dict[str, float]:
    """Return test accuracies of a logistic regression with the report's C and a chosen one."""
    train, test = data.train(name), data.test(name)
    rows, others = (
        text_vectors(model, part.texts, averaged=name == "imdb") for part in (train, test)
    )
    if sp.issparse(rows):
        # Columns that are empty in the training rows have a weight of 0.
        seen = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
        rows, others = rows[:, seen], others[:, seen]
    labels = np.array(train.labels)
    selected = np.arange(len(labels))
    if len(labels) > MAX_CHOICE_ROWS:
        _, part = split(
            Rows([str(i) for i in selected], train.labels), MAX_CHOICE_ROWS / len(labels)
        )
        selected = np.array([int(i) for i in part.texts])
    best = choose(rows[selected], labels[selected])
    measured = {
        "C of the report": accuracy(C_OF_THE_REPORT, rows, labels, others, test.labels),
        "C": best,
    }
    same = best == C_OF_THE_REPORT
    measured["C chosen"] = (
        measured["C of the report"] if same else accuracy(best, rows, labels, others, test.labels)
    )
    return measured


def choose(rows: Any, labels: NDArray[np.str_]) -> float:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    means = {}
    for C in CHOICES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            means[C] = cross_val_score(
                LogisticRegression(C=C, max_iter=ITERATIONS), rows, labels, cv=folds
            ).mean()
    return max(means, key=lambda C: means[C])


def accuracy(C: float, rows: Any, labels: Any, others: Any, wanted: Any) -> float:
    """Return the accuracy in percent after convergence or the maximum number of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier = LogisticRegression(C=C, max_iter=ITERATIONS).fit(rows, labels)
    return 100 * float(classifier.score(others, wanted))


def text_vectors(model: Any, texts: list[str], *, averaged: bool) -> Any:
    """Return the vectors of texts, or the means of their sentences' vectors."""
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        parts.append(mean_vectors(model, some) if averaged else model.transform(some))
    return (
        sp.vstack(parts, format="csr")
        if sp.issparse(parts[0])
        else np.concatenate(parts).astype(np.float64)
    )


def mean_vectors(model: Any, texts: list[str]) -> Any:
    sentences = [split_sentences(text.replace("<br />", "\n")) or [""] for text in texts]
    counts = np.array([len(some) for some in sentences])
    means = sp.csr_matrix(
        (
            np.repeat(1 / counts, counts),
            np.arange(counts.sum()),
            np.concatenate([[0], np.cumsum(counts)]),
        ),
    )
    return means @ model.transform([sentence for some in sentences for sentence in some])


def validation_accuracy(model: Any, name: str, data: DataFolder, C: float) -> float:
    """Return the accuracy on validation rows; none of them is a test row."""
    train, others = data.train_valid(name)
    rows, valid = (text_vectors(model, part.texts, averaged=False) for part in (train, others))
    return accuracy(C, rows, train.labels, valid, others.labels)
