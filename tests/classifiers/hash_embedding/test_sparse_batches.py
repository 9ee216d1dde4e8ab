"""Batches hold what the sparse rows hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseBatches, SparseDataset

MATRIX = csr_array(random_array((37, 50), density=0.2, rng=np.random.default_rng(0), dtype=np.float32))


def rows_of(batch):
    edges = batch.offsets.tolist()
    pairs = list(zip(batch.ids.tolist(), batch.weights.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]  # noqa: RUF007 - the edges of one batch


def plain_row(i):
    dense = MATRIX.toarray()[i]
    return [(int(j), float(dense[j])) for j in np.flatnonzero(dense)]


@given(st.lists(st.integers(0, 36), max_size=12))
def test_taken_rows_are_the_rows(rows):
    targets = np.arange(37)
    batch, taken = SparseDataset(MATRIX, targets).take(np.array(rows, dtype=np.int64))
    assert rows_of(batch) == [plain_row(i) for i in rows]
    assert taken.tolist() == rows
    assert len(batch) == len(rows)
    assert (batch.ids.dtype, batch.offsets.dtype, batch.weights.dtype) == (torch.int64, torch.int64, torch.float32)


@given(st.integers(0, 37), st.integers(0, 37))
def test_a_slice_is_its_rows(start, stop):
    rows = SparseDataset(MATRIX, np.arange(37), np.arange(37, dtype=np.float32))
    start, stop = min(start, stop), max(start, stop)
    found, expected = rows.take(slice(start, stop)), rows.take(np.arange(start, stop))
    for name in ("ids", "offsets", "weights", "row_weights"):
        assert torch.equal(getattr(found[0], name), getattr(expected[0], name))
    assert found[1].tolist() == expected[0].row_weights.tolist() == list(range(start, stop))


def test_of_a_slice_nothing_is_copied_but_what_torch_cannot_hold():
    rows = SparseDataset(MATRIX)
    assert np.shares_memory(rows.take(slice(3, 30))[0].weights.numpy(), MATRIX.data)
    locked = MATRIX.copy()
    for array in (locked.indices, locked.indptr, locked.data):
        array.setflags(write=False)
    for part in (slice(3, 30), np.arange(3, 30)):
        batch, _ = SparseDataset(locked).take(part)
        assert rows_of(batch) == [plain_row(i) for i in range(3, 30)]


def test_a_selection_keeps_targets_weights_and_types():
    rows = SparseDataset(MATRIX, np.arange(37), np.arange(37, dtype=np.float32))
    part = rows.select(np.array([5, 3, 5]))
    assert part.targets.tolist() == part.row_weights.tolist() == [5, 3, 5]
    assert part.indices.dtype == MATRIX.indices.dtype
    assert rows_of(part.take(slice(0, 3))[0]) == [plain_row(i) for i in (5, 3, 5)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_index_types(dtype):
    matrix = csr_array(
        (np.ones(3, np.float32), np.array([0, 5, 2**31 - 2], dtype=dtype), np.array([0, 1, 3], dtype=dtype)),
        shape=(2, 2**31 - 1),
    )
    batch, _ = SparseDataset(matrix).take(np.array([1, 0]))
    assert batch.ids.tolist() == [5, 2**31 - 2, 0]


@pytest.mark.parametrize("batch_size", [1, 5, 36, 37, 100])
@pytest.mark.parametrize("shuffle", [False, True])
def test_one_pass_has_every_row_once(batch_size, shuffle):
    batches = SparseBatches(
        SparseDataset(MATRIX, np.arange(37)), batch_size, shuffle=shuffle, generator=np.random.default_rng(0)
    )
    found = [(row, target) for batch, targets in batches for row, target in zip(rows_of(batch), targets, strict=True)]
    order = [int(target) for _, target in found]
    assert sorted(order) == list(range(37))
    assert (order == list(range(37))) is not shuffle
    assert all(row == plain_row(int(target)) for row, target in found)
    assert len(batches) == -(-37 // batch_size)


def test_every_pass_has_an_order_of_its_own_and_the_seed_decides_it():
    def orders(seed):
        batches = SparseBatches(
            SparseDataset(MATRIX, np.arange(37)), 10, shuffle=True, generator=np.random.default_rng(seed)
        )
        return [[t for _, targets in batches for t in targets.tolist()] for _ in range(2)]

    first, second = orders(1)
    assert first != second
    assert orders(1) == [first, second]
    assert orders(2) != [first, second]


def test_a_last_batch_that_is_too_small_joins_the_one_before():
    sizes = [len(batch) for batch, _ in SparseBatches(SparseDataset(MATRIX), 12, smallest=2)]
    assert sizes == [12, 12, 13]
    assert [len(batch) for batch, _ in SparseBatches(SparseDataset(MATRIX[:1]), 12, smallest=2)] == [1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 8), st.integers(1, 20))
def test_batches_of_limited_size_end_as_late_as_they_may(lengths, batch_size, max_values):
    matrix = csr_array(np.arange(10) < np.array(lengths)[:, None], dtype=np.float32)
    batches = list(SparseBatches(SparseDataset(matrix), batch_size, max_values=max_values))
    expected: list[list[int]] = []
    for row, length in enumerate(lengths):
        if row % batch_size and sum(expected[-1]) + length <= max_values:
            expected[-1].append(length)
        else:
            expected.append([length])
    assert [np.diff(batch.offsets).tolist() for batch, _ in batches] == expected
    assert [pair for batch, _ in batches for pair in rows_of(batch)] == [
        [(j, 1.0) for j in range(length)] for length in lengths
    ]


def test_no_rows_give_no_columns():
    batches = list(SparseBatches(SparseDataset(MATRIX[:0]), 5))
    assert sum(len(batch) for batch, _ in batches) == 0


def test_dropout_keeps_a_random_number_of_columns_in_their_order():
    rows = SparseDataset(MATRIX)
    generator = np.random.default_rng(0)
    seen: dict[int, set[int]] = {i: set() for i in range(37)}
    for _ in range(200):
        batch, _ = rows.take(np.arange(37), dropout=(2, 4), generator=generator)
        for i, kept in enumerate(rows_of(batch)):
            whole = plain_row(i)
            if len(whole) <= 2:
                assert kept == whole
            else:
                assert 2 <= len(kept) <= min(4, len(whole))
                assert [pair for pair in whole if pair in kept] == kept  # a subset, none twice, order kept
            seen[i].update(key for key, _ in kept)
    assert all(seen[i] == {key for key, _ in plain_row(i)} for i in range(37))  # every column has its turn


def test_dropout_draws_every_number_and_every_column_equally_often():
    matrix = csr_array(np.ones((6000, 6), dtype=np.float32))
    batch, _ = SparseDataset(matrix).take(np.arange(6000), dropout=(1, 3), generator=np.random.default_rng(0))
    lengths = np.bincount(np.diff(batch.offsets.numpy()))
    assert lengths[0] == 0
    assert (np.abs(lengths[1:] - 2000) < 200).all()
    assert (np.abs(np.bincount(batch.ids.numpy()) - 2000) < 200).all()
