"""Held-out rows: every row on one side, each class on both, and none where it makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers._sparse_rows import SparseDataset
from sklearn_hashnlp.training._batches import validation_split


def make(targets):
    return SparseDataset(csr_array(np.diag(np.arange(1.0, len(targets) + 1))), np.asarray(targets))


def test_every_row_is_on_one_side_with_its_target():
    targets = np.arange(200) % 4
    train, valid = validation_split(make(targets), 0.15, seed=3)
    assert (len(train), len(valid)) == (170, 30)
    found = [part.take(np.arange(len(part))) for part in (train, valid)]
    ids = np.concatenate([batch.ids.numpy() for batch, _ in found])
    assert sorted(ids.tolist()) == list(range(200))
    for batch, drawn in found:
        assert drawn.tolist() == targets[batch.ids.numpy()].tolist()
        assert (batch.weights.numpy() == batch.ids.numpy() + 1).all()
        assert set(drawn.tolist()) == {0, 1, 2, 3}


def test_the_seed_decides():
    rows = make(np.arange(200) % 4)
    drawn = [validation_split(rows, 0.2, seed=seed)[1].indices.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("targets", "fraction"),
    [
        (np.arange(200) % 4, 0.0),
        (np.arange(200) % 4, 0.09),  # 18 rows
        (np.r_[np.arange(200) % 4, 4], 0.2),  # a class with one member
        (np.arange(200) % 50, 0.2),  # more classes than held-out rows
        (np.arange(200) % 50, 0.8),  # more classes than training rows
    ],
    ids=["none asked for", "too few", "one member", "many classes", "too many"],
)
def test_no_split_where_it_would_be_of_no_use(targets, fraction):
    rows = make(targets)
    train, valid = validation_split(rows, fraction, seed=0)
    assert train is rows
    assert valid is None


def test_rows_with_any_number_of_labels_are_drawn_as_they_come():
    targets = np.eye(200, dtype=np.float32)[:, :3]  # most rows have none
    train, valid = validation_split(make(targets), 0.15, seed=3)
    assert (train.targets.shape, valid.targets.shape) == ((170, 3), (30, 3))
    for part in (train, valid):
        assert part.targets.tolist() == targets[part.indices].tolist()
    assert validation_split(make(targets[:100]), 0.15, seed=3)[1] is None
