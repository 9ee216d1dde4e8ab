"""Batches of any dataset, their order, and the validation split."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseDataset
from sklearn_hashnlp.classifiers.sgnn._dense_net import DenseDataset
from sklearn_hashnlp.training._batches import Batches
from sklearn_hashnlp.training._validation_split import validation_split

ROWS = DenseDataset(np.arange(37)[:, None], np.arange(37))


@pytest.mark.parametrize(
    ("n_rows", "size", "smallest"), [(37, 10, 1), (37, 12, 2), (37, 36, 2), (1, 5, 2), (0, 5, 1)]
)
def test_batches_cover_the_rows_in_order(n_rows, size, smallest):
    batches = Batches(ROWS.select(np.arange(n_rows)), size, smallest=smallest)
    sizes = [part.stop - part.start for part in batches.parts()]
    assert sum(sizes) == n_rows
    assert len(batches) == len(sizes)
    assert all(found == size for found in sizes[:-1]) or (n_rows > size and sizes[-1] > size)
    assert n_rows <= smallest or min(sizes) >= smallest
    assert [row for _, targets in batches for row in targets.tolist()] == list(range(n_rows))


def test_each_pass_has_an_order_of_its_own():
    batches = Batches(ROWS, 10, shuffle=True, generator=np.random.default_rng(0))
    first, second = ([row for _, targets in batches for row in targets.tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(37))
    assert len({tuple(first), tuple(second), tuple(range(37))}) == 3


def dataset(targets):
    return SparseDataset(csr_array(np.diag(np.arange(1.0, len(targets) + 1))), np.asarray(targets))


def test_every_row_is_on_one_side_with_its_target():
    targets = np.arange(200) % 4
    train, valid = validation_split(dataset(targets), 0.15, seed=3)
    assert (len(train), len(valid)) == (170, 30)
    found = [part.take(np.arange(len(part))) for part in (train, valid)]
    ids = np.concatenate([batch.ids.numpy() for batch, _ in found])
    assert sorted(ids.tolist()) == list(range(200))
    for batch, drawn in found:
        assert drawn.tolist() == targets[batch.ids.numpy()].tolist()
        assert (batch.weights.numpy() == batch.ids.numpy() + 1).all()
        assert set(drawn.tolist()) == {0, 1, 2, 3}


def test_the_seed_determines_the_split_and_zero_splits_nothing():
    rows = dataset(np.arange(200) % 4)
    drawn = [validation_split(rows, 0.2, seed=seed)[1].indices.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert validation_split(rows, 0.0, seed=0) == (rows, None)


@pytest.mark.parametrize(
    ("targets", "fraction"),
    [
        (np.arange(200) % 4, 0.09),  # 18 rows
        (np.arange(200) % 50, 0.2),  # more classes than held-out rows
        (np.arange(200) % 50, 0.8),  # more classes than training rows
        (np.arange(200), 0.2),  # each class has one member
    ],
    ids=["too few", "many classes", "too many", "single members"],
)
def test_no_split_where_it_would_be_of_no_use(targets, fraction):
    rows = dataset(targets)
    with pytest.warns(
        UserWarning, match="early_stopping has no effect, because 200 rows are too few"
    ):
        train, valid = validation_split(rows, fraction, seed=0)
    assert train is rows
    assert valid is None


def test_the_only_row_of_a_class_is_not_held_out():
    targets = np.r_[5, np.arange(200) % 4, 4]
    train, valid = validation_split(dataset(targets), 0.15, seed=3)
    assert (len(train), len(valid)) == (172, 30)
    assert {0, 201} <= set(train.indices.tolist())
    assert set(valid.targets.tolist()) == {0, 1, 2, 3}
    assert sorted([*train.indices.tolist(), *valid.indices.tolist()]) == list(range(202))


def test_rows_with_any_number_of_labels_are_drawn_as_they_come():
    targets = np.eye(200, dtype=np.float32)[:, :3]  # most rows have none
    train, valid = validation_split(dataset(targets), 0.15, seed=3)
    assert (train.targets.shape, valid.targets.shape) == ((170, 3), (30, 3))
    for part in (train, valid):
        assert part.targets.tolist() == targets[part.indices].tolist()
    with pytest.warns(UserWarning, match="early_stopping has no effect"):
        assert validation_split(dataset(targets[:100]), 0.15, seed=3)[1] is None
