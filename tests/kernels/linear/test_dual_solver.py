"""Parts of linear problems and their cross-validation against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import random as random_matrix

from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows, normalize_rows
from sklearn_hashnlp.kernels.linear._dual_solver import LinearProblem, cross_validate, minimized
from tests.trainings import assert_same_bits

SLOTS = np.array([2, 3, 5, 8, 13, 21, 34, 55])


def drawn(
    slots=SLOTS, *, n_rows=20, n_classes=3, n_hashes=1, norm="l2", scale=1.0, seed=0, **options
):
    """Return a problem of random rows, and their values before they were normalized, by slot."""
    rng = np.random.default_rng(seed)
    matrix = random_matrix(n_rows, len(slots), 0.5, "csr", np.float32, random_state=rng)
    matrix.sort_indices()
    sizes = np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64).ravel()
    raw = [
        {int(slots[column]): float(matrix[row, column]) for column in matrix[[row]].indices}
        for row in range(n_rows)
    ]
    # Every value has a column for each hash: here the same one, as if they collided.
    columns, values = (
        np.repeat(matrix.indices.astype(np.int32), n_hashes),
        np.repeat(matrix.data, n_hashes),
    )
    offsets = n_hashes * matrix.indptr.astype(np.int64)
    normalize_rows(values, offsets, norm, n_hashes)
    values *= np.float32(scale)
    labels = rng.integers(0, n_classes, n_rows) - (n_classes == 2)
    rows = LinearRows(offsets, columns, values, labels)
    costs = rng.random(n_rows).astype(np.float32) + np.float32(0.5)
    options = {"sizes": sizes} | options
    return LinearProblem(
        rows, costs, np.asarray(slots), n_classes, norm, scale, n_hashes=n_hashes, **options
    ), raw


def by_slot(problem):
    """Return the values of each row by slot, those of several hashes once."""
    rows, found = problem.rows, []
    for start, stop in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        part = slice(start, stop, problem.n_hashes)
        slots = problem.slots[rows.columns[part]].tolist()
        found.append(dict(zip(slots, rows.values[part].tolist(), strict=True)))
    return found


def assert_rows(problem, raw, kept):
    """Check that the rows have some of their values, normalized anew, and the sums of squares of
    these.
    """
    for found, size, values in zip(by_slot(problem), problem.sizes, raw, strict=True):
        own = {slot: value for slot, value in values.items() if slot in kept}
        power = 2 if problem.norm == "l2" else 1
        norm = sum(value**power for value in own.values()) ** (1 / power)
        assert found == pytest.approx(
            {slot: problem.scale * value / norm for slot, value in own.items()}, rel=1e-5
        )
        assert size == pytest.approx(sum(value**2 for value in own.values()), rel=1e-5)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("n_hashes", [1, 2])
def test_rows_in_the_columns_of_another_problem(norm, n_hashes):
    other, _ = drawn([3, 4, 8, 9, 34], norm=norm, n_hashes=n_hashes, scale=0.5, seed=1)
    problem, raw = drawn(norm=norm, n_hashes=n_hashes)
    assert_rows(problem, raw, set(SLOTS))
    found = problem.in_columns_of(other)
    assert found.slots.tolist() == other.slots.tolist()
    assert found.scale == 0.5
    assert_rows(found, raw, {3, 8, 34})
    assert_same_bits((found.rows.labels, found.costs), (problem.rows.labels, problem.costs))
    assert_rows(problem, raw, set(SLOTS))  # as before
    # rows may be left without columns: their size is 0
    assert any(not row for row in by_slot(found))


def test_columns_above_all_others_are_dropped():
    problem, raw = drawn([1000, 2000])
    assert_rows(problem.in_columns_of(drawn()[0]), raw, set())


def test_known_columns_are_those_of_the_training_rows():
    problem, raw = drawn()
    train = problem.take(np.array([3, 5]))
    known = {slot for row in (3, 5) for slot in raw[row]}
    assert len(known) < len(SLOTS)
    assert_rows(problem.known_from(train), raw, known)
    kept, _ = drawn(drops_new=False)
    assert kept.known_from(train) is kept


def test_joined_rows_are_those_of_both():
    (one, raw), (other, more) = drawn(seed=0), drawn(seed=1, n_rows=7)
    both = one.joined(other)
    assert_rows(both, raw + more, set(SLOTS))
    assert both.rows.labels.tolist() == one.rows.labels.tolist() + other.rows.labels.tolist()
    assert both.costs.tolist() == one.costs.tolist() + other.costs.tolist()
    assert_rows(both.take(np.array([24, 2])), [more[4], raw[2]], set(SLOTS))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_trained", [None, 14])
@pytest.mark.parametrize("share", [None, 0.5])
def test_each_fold_is_scored_by_models_of_the_others(n_classes, n_trained, share):
    problems, strengths = [drawn(n_classes=n_classes, seed=seed)[0] for seed in (0, 1)], [0.5, 4.0]
    fold_of = np.random.default_rng(0).permutation(20) % 3
    options = {"seed": 7, "n_epochs": 5}
    results = cross_validate(
        problems, fold_of, strengths, n_threads=2, n_trained=n_trained, share=share, **options
    )
    assert len(results) == 2
    for problem, result in zip(problems, results, strict=True):
        margins = np.empty((2, 20, n_classes))
        odds = np.empty((20, n_classes))
        sizes = np.empty(20)
        for row in range(20):
            others = [one for one in range(n_trained or 20) if fold_of[one] != fold_of[row]]
            train = problem.take(np.array(others))
            valid = problem.take(np.array([row])).known_from(train)
            sizes[row], odds[row] = valid.sizes[0], valid.scores(train.log_odds())[0]
            for at, strength in enumerate(strengths):
                margins[at, row] = valid.scores(*minimized(train, strength, **options))[0]
        np.testing.assert_allclose(result.sizes, sizes, rtol=1e-6)
        np.testing.assert_allclose(
            result.margins, margins + (0 if share is None else share * odds), atol=1e-5
        )
        if share is None:
            np.testing.assert_allclose(result.odds, odds, atol=1e-5)
        else:
            assert result.odds is None


def test_scores_of_problems_without_sizes():
    problem, _ = drawn(sizes=None)
    (result,) = cross_validate([problem], np.arange(20) % 2, [1.0], seed=0, n_epochs=2, n_threads=1)
    assert result.sizes is None
