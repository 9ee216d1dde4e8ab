"""Dual coordinate descent against liblinear, and the log-odds of naive Bayes against the plain
formula.
"""

import numpy as np
import pytest
from scipy.sparse import random as random_matrix
from sklearn.svm import LinearSVC

from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import (
    LinearRows,
    descend,
    naive_bayes_log_odds,
    normalize_rows,
    squared_norms,
)


def draw(n_rows=60, n_columns=40, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(n_rows, n_columns, 0.2, "csr", np.float32, random_state=rng)
    matrix.sort_indices()
    labels = rng.integers(0, n_classes, n_rows)
    rows = LinearRows(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, labels
    )
    return matrix, rows, rng


def solve(rows, costs, n_columns, n_outputs, rng, n_epochs):
    weights = np.zeros((n_columns, n_outputs), dtype=np.float32)
    bias, dual = (
        np.zeros(n_outputs, dtype=np.float32),
        np.zeros((len(rows.labels), n_outputs), dtype=np.float32),
    )
    for _ in range(n_epochs):
        squares = squared_norms(rows, n_columns)
        descend(rows, squares, costs, rng.permutation(len(rows.labels)), weights, bias, dual)
    return weights, bias, dual


@pytest.mark.parametrize("weighted", [False, True])
def test_converges_to_the_optimum_of_liblinear(weighted):
    matrix, rows, rng = draw()
    row_weights = (
        rng.random(matrix.shape[0]).astype(np.float32) + 0.5
        if weighted
        else np.ones(60, dtype=np.float32)
    )
    weights, bias, dual = solve(rows, 2 * row_weights, matrix.shape[1], 3, rng, 300)
    assert_optimal(weights, bias, matrix, rows.labels, sample_weight=row_weights)
    signs = np.where(rows.labels[:, None] == np.arange(3), 1, -1)
    np.testing.assert_allclose(weights, matrix.T @ (signs * dual), atol=2e-4)


def assert_optimal(weights, bias, matrix, labels, *, C=2, atol=2e-4, **fit):
    oracle = LinearSVC(C=C, tol=1e-9, max_iter=100_000, random_state=0).fit(
        matrix.astype(np.float64), labels, **fit
    )
    np.testing.assert_allclose(weights.T, oracle.coef_, atol=atol)
    np.testing.assert_allclose(bias, oracle.intercept_, atol=atol)


def epoch_in_double(matrix, labels, costs, order, weights, bias, dual):
    """Visit each row once, as Hsieh et al. (2008) do for the squared hinge loss."""
    for row in order:
        x, diagonal = matrix[[row]].toarray()[0].astype(np.float64), 0.5 / costs[row]
        signs = np.where(np.arange(len(bias)) == labels[row], 1.0, -1.0)
        margins = signs * (x @ weights + bias)
        before = dual[row].copy()
        dual[row] = np.maximum(
            0, before - (margins - 1 + diagonal * before) / (x @ x + 1 + diagonal)
        )
        weights += np.outer(x, signs * (dual[row] - before))
        bias += signs * (dual[row] - before)


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_epochs_are_those_of_the_formula(n_epochs):
    matrix, rows, rng = draw()
    costs, order = rng.random(60).astype(np.float32) + 0.5, rng.permutation(60)
    found = [np.zeros(shape, dtype=np.float32) for shape in ((40, 3), 3, (60, 3))]
    exact = [array.astype(np.float64) for array in found]
    for _ in range(n_epochs):
        descend(rows, squared_norms(rows, 40), costs, order, *found)
        epoch_in_double(matrix, rows.labels, costs.astype(np.float64), order, *exact)
    # an epoch adds each value to sums twice
    rounding = n_epochs * matrix.nnz * float(np.finfo(np.float32).eps)
    for array, one in zip(found, exact, strict=True):
        assert np.abs(one).max() > 0.1
        np.testing.assert_allclose(array, one, rtol=0, atol=rounding * np.abs(one).max())


def test_columns_that_occur_several_times_in_a_row():
    matrix, rows, rng = draw()
    folded = rows._replace(columns=rows.columns % 5)  # as by collisions of hashes
    sums = np.stack([matrix[:, column::5].sum(axis=1).A1 for column in range(5)], axis=1).astype(
        np.float64
    )
    np.testing.assert_allclose(squared_norms(folded, 5), 1 + (sums**2).sum(axis=1), rtol=1e-5)
    weights, bias, _ = solve(folded, np.full(60, 2, dtype=np.float32), 5, 3, rng, 300)
    assert_optimal(weights, bias, sums, rows.labels, atol=2e-3)


def test_a_row_that_is_positive_for_no_output():
    # Two classes have one output: the rows of the first class have the label -1.
    matrix, rows, rng = draw(n_classes=2)
    rows = rows._replace(labels=rows.labels - 1)
    weights, bias, _ = solve(rows, np.ones(60, dtype=np.float32), matrix.shape[1], 1, rng, 300)
    assert_optimal(weights, bias, matrix, rows.labels, C=1)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_log_odds(n_outputs):
    matrix, rows, _ = draw(n_classes=max(2, n_outputs))
    if n_outputs == 1:
        rows = rows._replace(labels=rows.labels - 1)
    costs = np.linspace(0.0, 2.0, matrix.shape[0], dtype=np.float32)
    found = naive_bayes_log_odds(rows, costs, matrix.shape[1], n_outputs, 0.1)
    dense = matrix.toarray().astype(np.float64) * costs[:, None]
    for output in range(n_outputs):
        own, other = (
            dense[rows.labels == output].sum(axis=0),
            dense[rows.labels != output].sum(axis=0),
        )
        own, other = own + 0.1, other + 0.1
        np.testing.assert_allclose(
            found[:, output],
            np.log(own / own.sum()) - np.log(other / other.sum()),
            rtol=1e-4,
            atol=1e-4,
        )


def test_a_column_with_negative_values_has_no_log_odds():
    columns, values = (
        np.array([0, 1, 0, 1], dtype=np.int32),
        np.array([1, 0.5, 2, -0.5], dtype=np.float32),
    )
    rows = LinearRows(np.array([0, 2, 4]), columns, values, np.array([0, 1]))
    odds = naive_bayes_log_odds(rows, np.ones(2, dtype=np.float32), 3, 2, 0.1)
    assert np.isfinite(odds).all()
    assert odds[0, 0] < 0 < odds[0, 1]
    assert (odds[1] == 0).all()


def test_rows_of_unit_length():
    values, offsets = np.array([3, 4, 0, -2], dtype=np.float32), np.array([0, 2, 2, 3, 4])
    normalize_rows(values, offsets)
    assert values.tolist() == pytest.approx([0.6, 0.8, 0, -1])
