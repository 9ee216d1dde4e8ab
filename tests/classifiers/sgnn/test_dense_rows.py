"""Rows of a matrix: what is gathered, in which dtype, and that nothing is copied or widened without
need.
"""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.classifiers.sgnn._dense_net import DenseDataset
from sklearn_hashnlp.training._batches import Batches

RNG = np.random.default_rng(0)
MATRIX = RNG.integers(0, 100, (37, 5)).astype(np.uint8)
WEIGHTS = RNG.random(37).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.float32])
@pytest.mark.parametrize("rows", [[], [3], [36, 0, 0, 7]])
@pytest.mark.parametrize("targets", [np.arange(37), np.eye(37, dtype=np.float32)])
def test_rows_are_gathered_as_they_are(dtype, rows, targets):
    matrix = MATRIX.astype(dtype)
    batch, taken = DenseDataset(matrix, targets, WEIGHTS).take(np.array(rows, dtype=np.int64))
    assert len(batch) == len(rows)
    assert batch.values.numpy().dtype == dtype
    assert np.array_equal(batch.values.numpy(), matrix[rows])
    assert np.array_equal(taken.numpy(), targets[rows])
    assert np.array_equal(batch.row_weights.numpy(), WEIGHTS[rows])


@pytest.mark.filterwarnings("error")
def test_read_only_and_strided_rows_are_gathered():
    locked = MATRIX.copy()
    locked.flags.writeable = False
    for matrix in (locked, np.asfortranarray(MATRIX), MATRIX[:, ::-1], MATRIX[::-2]):
        for part in (slice(2, 9), np.array([4, 1])):
            assert np.array_equal(DenseDataset(matrix).take(part)[0].values.numpy(), matrix[part])


def test_a_slice_is_a_view_and_a_selection_a_copy():
    batch, targets = DenseDataset(MATRIX).take(slice(5, 9))
    assert np.shares_memory(batch.values.numpy(), MATRIX)
    assert (targets.tolist(), batch.row_weights) == ([0] * 4, None)
    rows = DenseDataset(MATRIX, np.arange(37), WEIGHTS)
    part = rows.select(np.array([4, 2]))
    assert np.array_equal(part.matrix, MATRIX[[4, 2]])
    assert part.targets.tolist() == [4, 2]
    assert part.row_weights.tolist() == WEIGHTS[[4, 2]].tolist()
    assert not np.shares_memory(part.matrix, MATRIX)
    assert DenseDataset(MATRIX).select(np.array([1])).row_weights is None
    assert (len(rows), len(part)) == (37, 2)
    assert rows.X is rows
    assert rows.y is rows.targets


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_hold_every_row_once(shuffle):
    rows = DenseDataset(MATRIX, np.arange(37))
    batches = Batches(rows, 10, shuffle=shuffle, generator=np.random.default_rng(0))
    seen = list(batches)
    assert [len(batch) for batch, _ in seen] == [10, 10, 10, 7]
    order = np.concatenate([targets.numpy() for _, targets in seen])
    assert sorted(order.tolist()) == list(range(37))
    assert (order.tolist() == list(range(37))) != shuffle
    assert np.array_equal(
        np.concatenate([batch.values.numpy() for batch, _ in seen]), MATRIX[order]
    )


def test_batches_on_another_device_are_made_of_one_copy():
    batches = Batches(DenseDataset(MATRIX, np.arange(37), WEIGHTS), 10, shuffle=True, device="meta")
    seen = list(batches)
    there = batches._gather
    assert [(len(batch), tuple(batch.values.shape), len(targets)) for batch, targets in seen] == [
        *[(10, (10, 5), 10)] * 3,
        (7, (7, 5), 7),
    ]
    assert all(batch.values.is_meta and targets.is_meta for batch, targets in seen)
    list(batches)
    assert batches._gather is there
