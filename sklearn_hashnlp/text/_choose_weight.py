"""The weight of some of the columns of texts, chosen by cross-validation of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows, normalize_rows
from sklearn_hashnlp.kernels.linear._dual_solver import LinearProblem, cross_validate

# Limits of a sample of texts
_MIN_TEXTS = 30
_MAX_TEXTS = 5000
_MAX_CHARACTERS = 500_000
_MAX_CLASSES, _MAX_WEIGHTS = 256, 2**26  # of a problem; a larger one is not worth its memory
_FOLDS, _EPOCHS = 5, 4
_STRENGTH, _SHARE = 3.0, 0.03  # C, and the factor of the log-odds of naive Bayes
# correct predictions that another weight must have more, times the root of their number
_NOISE = 0.15


def sample_texts(n_texts: int, n_characters: int) -> NDArray[np.int64]:
    """Return the indices of texts that suffice to choose a weight, in random order."""
    wanted = min(_MAX_TEXTS, _MAX_CHARACTERS * n_texts // max(1, n_characters))
    return np.random.default_rng(0).permutation(n_texts)[: max(_MIN_TEXTS, wanted)]


def encode_labels(y: Any, n_texts: int) -> NDArray[np.int64] | None:
    """Return labels as 0, 1, ...; None if not one per text, or too few or too many classes."""
    try:
        labels = np.asarray(y)
    except ValueError:  # lists of labels
        return None
    if getattr(y, "shape", None) == (n_texts, 1):  # a column, which classifiers accept
        labels = labels.ravel()
    if labels.shape != (n_texts,) or labels.dtype.kind not in "biuUSO":
        return None
    if labels.dtype.kind == "O" and not all(
        isinstance(label, str | int | np.generic) for label in labels
    ):
        return None
    try:
        classes, encoded = np.unique(labels, return_inverse=True)
    except TypeError:  # mixed types: the classifier raises the error
        return None
    return encoded.astype(np.int64) if 2 <= len(classes) <= _MAX_CLASSES else None


def choose_weight(
    counts: Any,  # (n_texts, n_columns) CSR
    first: int,  # the columns from there on are weighted
    weights: Sequence[float],  # the first one is the default
    labels: NDArray[np.int64],  # (n_texts,)
    n_threads: int,
) -> float:
    """Return the weight with the most correct predictions of a linear SVM on left-out texts."""
    columns, indices, frequencies = np.unique(
        counts.indices, return_inverse=True, return_counts=True
    )
    offsets, n_classes = counts.indptr.astype(np.int64), int(labels.max()) + 1
    if len(columns) * n_classes > _MAX_WEIGHTS:
        return weights[0]
    values = counts.data * smoothed_idf(frequencies, len(labels)).astype(np.float32)[indices]
    is_weighted = columns[indices] >= first
    problems = []
    for weight in weights:
        weighted = np.where(is_weighted, values * np.float32(weight), values)
        normalize_rows(weighted, offsets)
        rows = LinearRows(
            offsets, indices.astype(np.int32), weighted, labels - 1 if n_classes == 2 else labels
        )
        problems.append(LinearProblem(rows, np.ones(len(labels), np.float32), columns, n_classes))
    fold_of = np.random.default_rng(0).permutation(len(labels)) % _FOLDS
    options: dict[str, Any] = {
        "seed": 0,
        "n_epochs": _EPOCHS,
        "n_threads": n_threads,
        "share": _SHARE,
    }
    left_out = cross_validate(problems, fold_of, (_STRENGTH,), **options)
    correct = [int((one.margins[0].argmax(axis=1) == labels).sum()) for one in left_out]
    best = int(np.argmax(correct))
    return weights[best if correct[best] - correct[0] > _NOISE * np.sqrt(len(labels)) else 0]
