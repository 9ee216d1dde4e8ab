"""Crops of rows against plain sets, and what a Calibration keeps of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers.hash_embedding import _sparse_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows

COMMON = np.array([3, 17], dtype=np.int32)


def drawn_rows(n_rows=40, n_columns=30, *, seed=0, weighted=True):
    """Return rows that all have the common columns; row 0 has no others."""
    rng = np.random.default_rng(seed)
    counts = (rng.random((n_rows, n_columns)) < 0.4) * rng.integers(1, 5, (n_rows, n_columns))
    counts[0] = 0
    counts[:, COMMON] = rng.integers(1, 3, (n_rows, 2))
    weights = rng.random(n_rows).astype(np.float32) if weighted else None
    return SparseRows(csr_array(counts.astype(np.float32)), rng.integers(0, 3, n_rows), weights)


def as_dicts(rows):
    parts = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return [
        dict(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))
        for part in parts
    ]


@pytest.mark.parametrize(
    "some", [np.arange(40), np.array([7, 3, 31, 3]), np.array([], dtype=np.int64)], ids=len
)
@pytest.mark.parametrize("most", [1000, 12])
def test_a_crop_keeps_columns_shared_with_one_random_row_only(some, most, monkeypatch):
    monkeypatch.setattr(_sparse_rows, "_MOST_CROPS", most)
    rows, n_crops = drawn_rows(), min(len(some), most)
    crops, sources = rows.crops(some, COMMON, 5)
    generator = np.random.default_rng(5)
    chosen = sorted(generator.permutation(len(some))[:most].tolist())
    assert sources.tolist() == chosen
    assert len(crops) == n_crops
    own, (first, second) = as_dicts(rows), generator.integers(40, size=(2, n_crops))
    expected = []
    for row, one, other in zip(some[chosen], first, second, strict=True):
        kept = set(own[row]) & set(own[one]) - (set(own[other]) - set(COMMON.tolist()))
        expected.append({column: own[row][column] for column in kept})
    assert as_dicts(crops) == expected
    assert all(set(COMMON.tolist()) <= set(crop) for crop in expected)
    for start, stop in zip(crops.indptr[:-1], crops.indptr[1:], strict=True):
        assert (np.diff(crops.indices[start:stop]) > 0).all()
    assert crops.targets.tolist() == rows.targets[some[chosen]].tolist()
    assert crops.row_weights.tolist() == rows.row_weights[some[chosen]].tolist()
    assert crops.data.dtype == rows.data.dtype


def test_crops_keep_targets_of_several_labels_and_change_no_row():
    rows = drawn_rows(weighted=False)
    rows.targets = np.eye(3, dtype=np.int64)[rows.targets]
    before = as_dicts(rows)
    crops, sources = rows.crops(np.arange(20), COMMON, 0)
    assert crops.row_weights is None
    assert crops.targets.tolist() == rows.targets[sources].tolist()
    assert as_dicts(rows) == before
    sizes = [len(crop) for crop in as_dicts(crops)]
    assert 2 <= np.mean(sizes) < np.mean([len(row) for row in before]) / 2
    assert as_dicts(rows.crops(np.arange(20), COMMON, 1)[0]) != as_dicts(crops)


def test_crops_of_empty_rows_are_empty():
    empty = SparseRows(csr_array((4, 9), dtype=np.float32), np.array([0, 1, 0, 1]))
    crops, sources = empty.crops(np.arange(4), np.empty(0, dtype=np.int32), 0)
    assert as_dicts(crops) == [{}] * 4
    assert sources.tolist() == [0, 1, 2, 3]


def test_a_calibration_of_further_rows_counts_them_and_keeps_what_all_have():
    parts = [drawn_rows(seed=seed) for seed in (0, 1, 2)]
    parts[0].indices = parts[0].indices.copy()
    parts[0].indices[parts[0].indices == 17] = 16  # a common column that other rows do not have
    calibration = None
    expected = np.zeros(4)
    n_rows = 0
    for part in parts:
        calibration = Calibration.of(part, 3, calibration)
        n_rows += len(part)
        for target, weight in zip(part.targets, part.row_weights, strict=True):
            expected[[target, 3]] += float(weight)
        np.testing.assert_allclose(calibration.class_counts, expected)
        assert calibration.n_rows == n_rows
        calibration.half = 0.25  # stays until it is fitted
    assert calibration.half == 0.25
    smallest = min(row[3] for part in parts for row in as_dicts(part))
    assert (calibration.common_columns.tolist(), calibration.common_values.tolist()) == (
        [3],
        [smallest],
    )


def test_a_row_without_columns_leaves_none_in_common():
    rows = drawn_rows()
    assert Calibration.of(rows, 3).common_columns.tolist() == COMMON.tolist()
    empty = SparseRows(csr_array((1, 30), dtype=np.float32), np.array([1]))
    both = Calibration.of(empty, 3, Calibration.of(rows, 3))
    assert len(both.common_columns) == len(both.common_values) == 0


def test_columns_of_both_signs_are_not_common():
    """A projection outputs 1 or -1 in each column: all rows have all columns, with one length."""
    X = np.random.default_rng(0).choice(np.float32([-1, 1]), (400, 30))
    X[:, 7] = -2
    rows = SparseRows(csr_array(X), (X[:, 0] > 0).astype(np.int64))
    assert Calibration.of(rows, 2).common_columns.tolist() == [7]
    assert Calibration.of(rows, 2).common_values.tolist() == [-2]
    calibration = None
    for row in range(40):
        calibration = Calibration.of(rows.select(np.array([row])), 2, calibration)
    assert calibration.common_columns.tolist() == [7]
    model = HashEmbeddingClassifier(n_buckets=1000, random_state=0).fit(X[:300], rows.targets[:300])
    assert model.score(X[300:], rows.targets[300:]) > 0.9


def test_a_temperature_alone_keeps_what_an_earlier_call_found():
    rows = drawn_rows()
    first = Calibration.of(rows, 3)
    assert Calibration.of(rows, 3, first, "temperature").common_columns.tolist() == COMMON.tolist()
    assert len(Calibration.of(rows, 3, None, "temperature").common_columns) == 0


def test_a_calibration_is_the_same_after_it_was_saved():
    calibration = Calibration.of(drawn_rows(), 3)
    calibration.half = 0.5
    values, arrays = calibration.to_state()
    again = Calibration.from_state(values, arrays, 3, 30)
    for name in vars(calibration):
        np.testing.assert_array_equal(getattr(again, name), getattr(calibration, name))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"class_counts": np.ones(3)}, "a count for each of 3 classes and one for all, at least 0"),
        ({"class_counts": np.ones(4, dtype=np.float32)}, "a count for each of 3 classes"),
        ({"class_counts": np.ones((4, 1))}, "a count for each of 3 classes"),
        ({"class_counts": np.array([1, -1, 1, 1.0])}, "a count for each of 3 classes"),
        (
            {"common_columns": np.array([3.0, 17.0])},
            "a value of float32 for each column that all rows have",
        ),
        ({"common_columns": np.array([3])}, "a value of float32 for each column"),
        ({"common_columns": np.array([[3], [17]])}, "a value of float32 for each column"),
        ({"common_columns": np.array([17, 3])}, "ascending integers below 30"),
        ({"common_columns": np.array([17, 17])}, "ascending integers below 30"),
        ({"common_columns": np.array([-3, 17])}, "ascending integers below 30"),
        ({"common_columns": np.array([17, 30])}, "ascending integers below 30"),
        ({"common_values": np.ones(2)}, "a value of float32 for each column"),
        (
            {"common_values": np.ones((2, 1), dtype=np.float32)},
            "a value of float32 for each column",
        ),
        ({"half": -0.5}, r"must be a number of at least 0, got -0\.5"),
        ({"half": np.nan}, "must be a number of at least 0, got nan"),
        ({"half": np.inf}, "must be a number of at least 0, got inf"),
    ],
    ids=str,
)
def test_a_damaged_calibration_is_refused(damage, message):
    values, arrays = Calibration.of(drawn_rows(), 3).to_state()
    values, arrays = (
        {name: damage.get(name, one) for name, one in part.items()} for part in (values, arrays)
    )
    with pytest.raises(ValueError, match=message):
        Calibration.from_state(values, arrays, 3, 30)
