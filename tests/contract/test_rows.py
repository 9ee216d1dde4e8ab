"""Rows and texts of all public estimators: each by itself, in any batch, of any container, and left
as they were.
"""

from __future__ import annotations

from inspect import signature

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array, issparse
from sklearn import config_context
from sklearn.utils import get_tags

from tests.contract.estimators import CASES, ONE_OF_A_KIND, answers, as_bytes, fit, fitted, kind
from tests.trainings import assert_same_bits

# in score_samples the sentences before, as documented
REMEMBERS = {"CacheLanguageModel", "InterpolatedLanguageModel"}
BY_ROW = [
    (name, method)
    for name in CASES
    for method in CASES[name].answers
    if method != "perplexity" and not (name in REMEMBERS and method == "score_samples")
]
# Matrix products of other sizes round otherwise: the last bits of these depend on the batch
# (docs/reproducibility.md).
ROUNDED = [
    (name, method)
    for name, method in BY_ROW
    if kind(name) == "SGNNSentenceEncoder"
    or (kind(name) == "HsigmoidLanguageModel" and (method == "predict_proba" or "softmax" in name))
]
OF_ROWS = [name for name in ONE_OF_A_KIND if not get_tags(CASES[name].make()).input_tags.string]
OF_TEXTS = [name for name in ONE_OF_A_KIND if name not in OF_ROWS]


def length(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def select(X, rows):
    """Return some rows, or some texts."""
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def by_row(value):
    """Return the rows of an answer, sparse ones as bytes."""
    if issparse(value):
        value = value.tocsr()
        bounds = zip(value.indptr[:-1], value.indptr[1:], strict=True)
        rows = [(value.indices[start:stop], value.data[start:stop]) for start, stop in bounds]
        return [as_bytes(columns.astype(np.int64)) + as_bytes(values) for columns, values in rows]
    return list(value)


def same(one, other):
    return as_bytes(one) == as_bytes(other)


def nearly(one, other):
    return np.allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "method"), BY_ROW)
def test_an_answer_does_not_depend_on_the_rows_around_it(name, method):
    asked, call = CASES[name].asked, getattr(fitted(name), method)
    n_rows = length(asked)
    expected = by_row(call(asked))
    assert len(expected) == n_rows
    agree = nearly if (name, method) in ROUNDED else same
    order = np.random.default_rng(0).permutation(n_rows)
    assert all(map(agree, by_row(call(select(asked, order))), (expected[row] for row in order)))
    assert all(agree(row, expected[0]) for row in by_row(call(select(asked, [0] * 3))))
    for size in (1, 3, n_rows - 1):
        batches = [
            call(select(asked, range(start, min(start + size, n_rows))))
            for start in range(0, n_rows, size)
        ]
        rows = [row for batch in batches for row in by_row(batch)]
        assert len(rows) == n_rows
        assert all(map(agree, rows, expected)), size


def _of_other_numbers(X):
    dense = X.toarray() if issparse(X) else np.asarray(X)
    others = {
        "float32": dense.astype(np.float32),
        "lists": dense.tolist(),
        "frame": pd.DataFrame(dense),
    }
    if issparse(X):
        others |= {"CSC": csc_array(X), "int64 indices": _with_long_indices(X)}
    return others


def _with_long_indices(X):
    rows = csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_of_any_container_give_the_same(name):
    case, model = CASES[name], fitted(name)
    for method in case.answers:
        expected = as_bytes(getattr(model, method)(case.asked))
        for container, asked in _of_other_numbers(case.asked).items():
            assert as_bytes(getattr(model, method)(asked)) == expected, (method, container)


@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts_of_a_generator_give_the_same(name):
    case, model = CASES[name], fitted(name)
    for method in case.answers:
        expected = as_bytes(getattr(model, method)(case.asked))
        assert as_bytes(getattr(model, method)(text for text in case.asked)) == expected, method


@pytest.mark.parametrize("name", [*ONE_OF_A_KIND, "make_text_classifier"])
def test_the_users_frames_of_output_do_not_disturb_training(name):
    with config_context(transform_output="pandas"):
        model = fit(name)
    assert_same_bits(answers(name, model), answers(name, fitted(name)))


def _mapped(value, path):
    """Return a value as workers of joblib get it: its arrays are mapped from a file."""
    joblib.dump(value, path)
    return joblib.load(path, mmap_mode="r")


def _read_only(value, path):
    """Return an array or a matrix as read-only, and other values as they are."""
    if not issparse(value) and not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        value = value.copy()
        value.setflags(write=False)
        return value
    return _mapped(value, path)


def _train(model, method, X, y, weights):
    """Train a model by a method, if it has that."""
    if call := getattr(model, method, None):
        weighted = (
            {"sample_weight": weights} if "sample_weight" in signature(call).parameters else {}
        )
        call(X, *([] if y is None else [y]), **weighted)
    return model


READ_ONLY = [*((name, False) for name in CASES), *((name, True) for name in OF_ROWS)]


@pytest.mark.parametrize(("name", "dense"), READ_ONLY)
def test_read_only_arrays_and_models_give_the_same(name, dense, tmp_path):
    case = CASES[name]
    X, asked = (
        value.toarray() if dense and issparse(value) else value for value in (case.X, case.asked)
    )
    X = np.array(X) if kind(name) in OF_TEXTS and isinstance(X[0], str) else X
    values = {"X": X, "y": case.y, "weights": np.linspace(0.5, 1.5, length(X))}
    mapped = {part: _read_only(value, tmp_path / part) for part, value in values.items()}
    model = _train(_train(case.make(), "fit", **values), "partial_fit", **values)
    other = _mapped(_train(case.make(), "fit", **mapped), tmp_path / "model")
    other = _mapped(_train(other, "partial_fit", **mapped), tmp_path / "later")
    for method in case.answers:
        found = getattr(other, method)(_read_only(asked, tmp_path / "asked"))
        assert as_bytes(found) == as_bytes(getattr(model, method)(asked)), method
