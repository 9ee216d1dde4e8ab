"""The weight of n-grams of characters relative to n-grams of words, chosen by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows, normalize_rows
from sklearn_hashnlp.kernels.linear._dual_solver import LinearProblem, cross_validate

DEFAULT_WEIGHT, SMALLER_WEIGHT = 0.5, 0.25
MIN_TEXTS, MAX_TEXTS, MAX_CHARACTERS = 30, 5000, 500_000  # of a sample
_MAX_CLASSES, _MAX_WEIGHTS = 256, 2**26  # of a problem; a larger one is not worth its memory
_FOLDS, _EPOCHS = 5, 4
_STRENGTH, _SHARE = 3.0, 0.03  # C, and the factor of the log-odds of naive Bayes
_NOISE = 0.15  # correct predictions that the smaller weight must have more, times the root of their number


def encode_labels(y: Any, n_texts: int) -> NDArray[np.int64] | None:
    """Return labels as 0, 1, ...; None if they are not one label per text, or too few or too many classes."""
    try:
        labels = np.asarray(y)
    except ValueError:  # lists of labels
        return None
    if getattr(y, "shape", None) == (n_texts, 1):  # a column, which classifiers accept
        labels = labels.ravel()
    if labels.shape != (n_texts,) or labels.dtype.kind not in "biuUSO":
        return None
    if labels.dtype.kind == "O" and not all(isinstance(label, str | int | np.generic) for label in labels):
        return None
    try:
        classes, encoded = np.unique(labels, return_inverse=True)
    except TypeError:  # mixed types: the classifier raises the error
        return None
    return encoded.astype(np.int64) if 2 <= len(classes) <= _MAX_CLASSES else None


def choose_weight(
    counts: Any,  # (n_texts, n_columns) CSR
    n_word_columns: int,  # the columns from there on are n-grams of characters
    labels: NDArray[np.int64],  # (n_texts,)
    n_threads: int,
) -> float:
    """Return the weight with more correct predictions of a linear support vector machine on left-out texts."""
    columns, indices, frequencies = np.unique(counts.indices, return_inverse=True, return_counts=True)
    offsets, n_classes = counts.indptr.astype(np.int64), int(labels.max()) + 1
    if len(columns) * n_classes > _MAX_WEIGHTS:
        return DEFAULT_WEIGHT
    values = counts.data * smoothed_idf(frequencies, len(labels)).astype(np.float32)[indices]
    is_character = columns[indices] >= n_word_columns
    problems = []
    for weight in (DEFAULT_WEIGHT, SMALLER_WEIGHT):
        weighted = np.where(is_character, values * np.float32(weight), values)
        normalize_rows(weighted, offsets)
        rows = LinearRows(offsets, indices.astype(np.int32), weighted, labels - 1 if n_classes == 2 else labels)
        problems.append(LinearProblem(rows, np.ones(len(labels), np.float32), columns, n_classes))
    fold_of = np.random.default_rng(0).permutation(len(labels)) % _FOLDS
    options: dict[str, Any] = {"seed": 0, "n_epochs": _EPOCHS, "n_threads": n_threads, "share": _SHARE}
    left_out = cross_validate(problems, fold_of, (_STRENGTH,), **options)
    default, smaller = (int((one.margins[0].argmax(axis=1) == labels).sum()) for one in left_out)
    return SMALLER_WEIGHT if smaller - default > _NOISE * np.sqrt(len(labels)) else DEFAULT_WEIGHT
