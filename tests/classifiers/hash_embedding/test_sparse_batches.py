"""Sparse rows in one form, and the batches of them, made by the kernel or on a device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import (
    DeviceDataset,
    SparseBatches,
    SparseDataset,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import canonical_rows

MATRIX = csr_array(
    random_array((37, 50), density=0.2, rng=np.random.default_rng(0), dtype=np.float32)
)


def rows_of(batch):
    edges = batch.offsets.tolist()
    pairs = list(zip(batch.ids.tolist(), batch.weights.tolist(), strict=True))
    # the edges of one batch
    return [pairs[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]  # noqa: RUF007


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
    assert (batch.ids.dtype, batch.offsets.dtype, batch.weights.dtype) == (
        torch.int64,
        torch.int64,
        torch.float32,
    )


@given(st.integers(0, 37), st.integers(0, 37))
def test_a_slice_is_its_rows(start, stop):
    rows = SparseDataset(MATRIX, np.arange(37), np.arange(37, dtype=np.float32))
    start, stop = min(start, stop), max(start, stop)
    found, expected = rows.take(slice(start, stop)), rows.take(np.arange(start, stop))
    for name in ("ids", "offsets", "weights", "row_weights"):
        assert torch.equal(getattr(found[0], name), getattr(expected[0], name))
    assert found[1].tolist() == expected[0].row_weights.tolist() == list(range(start, stop))


def test_a_slice_is_copied_only_if_torch_needs_it():
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
    indices, offsets = np.array([0, 5, 2**31 - 2], dtype=dtype), np.array([0, 1, 3], dtype=dtype)
    matrix = csr_array((np.ones(3, np.float32), indices, offsets), shape=(2, 2**31 - 1))
    assert SparseDataset(matrix).take(np.array([1, 0]))[0].ids.tolist() == [5, 2**31 - 2, 0]


@pytest.mark.parametrize("batch_size", [1, 5, 36, 37, 100])
@pytest.mark.parametrize("shuffle", [False, True])
def test_one_pass_has_every_row_once(batch_size, shuffle):
    batches = SparseBatches(
        SparseDataset(MATRIX, np.arange(37)),
        batch_size,
        shuffle=shuffle,
        generator=np.random.default_rng(0),
    )
    found = [
        (row, target)
        for batch, targets in batches
        for row, target in zip(rows_of(batch), targets, strict=True)
    ]
    order = [int(target) for _, target in found]
    assert sorted(order) == list(range(37))
    assert (order == list(range(37))) is not shuffle
    assert all(row == plain_row(int(target)) for row, target in found)
    assert len(batches) == -(-37 // batch_size)


def test_a_last_batch_that_is_too_small_joins_the_one_before():
    sizes = [len(batch) for batch, _ in SparseBatches(SparseDataset(MATRIX), 12, smallest=2)]
    assert sizes == [12, 12, 13]
    assert [
        len(batch) for batch, _ in SparseBatches(SparseDataset(MATRIX[:1]), 12, smallest=2)
    ] == [1]


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
                # a subset, none twice, order kept
                assert [pair for pair in whole if pair in kept] == kept
            seen[i].update(key for key, _ in kept)
    # every column has its turn
    assert all(seen[i] == {key for key, _ in plain_row(i)} for i in range(37))


def test_dropout_draws_every_number_and_every_column_equally_often():
    matrix = csr_array(np.ones((6000, 6), dtype=np.float32))
    batch, _ = SparseDataset(matrix).take(
        np.arange(6000), dropout=(1, 3), generator=np.random.default_rng(0)
    )
    lengths = np.bincount(np.diff(batch.offsets.numpy()))
    assert lengths.tolist() == pytest.approx([0, 2000, 2000, 2000], abs=200)
    assert np.bincount(batch.ids.numpy()) == pytest.approx(np.full(6, 2000), abs=200)


DENSE = np.array([[0, 2, -1, 0], [0, 0, 0, 0], [3, 0, 0, 0.5]], dtype=np.float32)


@given(
    entries=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([-2.0, -1.0, 0.0, 0.5, 4.0])), max_size=12
    ),
    cut=st.integers(0, 12),
)
def test_unsorted_columns_duplicates_and_zeros(entries, cut):
    cut = min(cut, len(entries))
    data = np.array([value for _, value in entries], dtype=np.float32)
    indices = np.array([column for column, _ in entries], dtype=np.int64)
    messy = csr_array((data, indices, np.array([0, cut, len(entries)])), shape=(2, 4))
    before = messy.data.copy(), messy.indices.copy()
    rows = canonical_rows(messy, any_scale=False)
    expected = np.zeros((2, 4), dtype=np.float32)
    for place, (column, value) in enumerate(entries):
        expected[int(place >= cut), column] += value
    np.testing.assert_array_equal(rows.toarray(), expected)
    assert rows.nnz == np.count_nonzero(expected)
    assert rows.has_canonical_format
    assert np.array_equal(before[0], messy.data)
    assert np.array_equal(before[1], messy.indices)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_rows_out_of_range_are_rescaled_and_only_if_that_is_allowed(scale):
    extreme = (DENSE * scale).astype(np.float32)
    if scale < 1:
        np.testing.assert_array_equal(canonical_rows(extreme, any_scale=False).toarray(), extreme)
    expected = DENSE / np.array([[2], [1], [3]])
    np.testing.assert_allclose(
        canonical_rows(extreme, any_scale=True).toarray(), expected, rtol=1e-6
    )
    last_empty = canonical_rows(np.vstack([extreme, np.zeros((2, 4), np.float32)]), any_scale=True)
    np.testing.assert_allclose(last_empty.toarray()[:3], expected, rtol=1e-6)


def test_a_row_that_is_rescaled_changes_no_other():
    values = np.random.default_rng(0).random((5, 4)).astype(np.float32)
    values[1] *= 1e30
    values[3] *= 1e-30
    values[4, 0] = 1e-30  # a small value beside ordinary ones is no reason to rescale
    rows = canonical_rows(values, any_scale=True).toarray()
    assert rows[[0, 2, 4]].tobytes() == values[[0, 2, 4]].tobytes()
    alone = [canonical_rows(values[[i]], any_scale=True).toarray()[0] for i in range(5)]
    assert rows.tobytes() == np.stack(alone).tobytes()


def test_a_row_that_cannot_be_rescaled_is_named():
    values = np.ones((3, 4), dtype=np.float32)
    values[2, 1] = -1e37
    with pytest.raises(
        ValueError, match=r"X has the value -1e\+37 in row 2, and normalize=None .* up to 1e\+15"
    ):
        canonical_rows(values, any_scale=False)
    values[2, 1] = 1e15
    assert canonical_rows(values, any_scale=False).nnz == 12


def test_duplicates_that_add_up_to_infinity_are_refused():
    values = csr_array(
        (np.full(2, 3e38, dtype=np.float32), np.array([1, 1]), np.array([0, 2])), shape=(1, 3)
    )
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="the same row and column that add up to infinity"),
    ):
        canonical_rows(values, any_scale=True)


def test_columns_beyond_the_hash_functions_are_refused():
    wide = csr_array(
        (np.ones(2, np.float32), np.array([0, 2**32]), np.array([0, 1, 2])), shape=(2, 2**34)
    )
    with pytest.raises(
        ValueError, match=r"X has 17179869184 columns, .* make fewer, such as Hashing"
    ):
        canonical_rows(wide, any_scale=True)


DRAWS = np.random.default_rng(0)
WIDER = csr_array(random_array((700, 50), density=0.1, rng=DRAWS, dtype=np.float32))
TARGETS = {
    "numbers": DRAWS.integers(0, 5, 700),
    "indicators": DRAWS.integers(0, 2, (700, 3)).astype(np.float32),
}
WEIGHTS = {"weighted": DRAWS.random(700).astype(np.float32), "unweighted": None}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def tensors(batch, targets):
    found = [batch.ids, batch.offsets, batch.weights, targets]
    return found if batch.row_weights is None else [*found, batch.row_weights]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("batch_size", [3, 7, 1000])  # 234 batches: more than are gathered at once
def test_batches_on_a_device_equal_the_batches_of_the_kernel(batch_size, targets, weights, device):
    rows = SparseDataset(WIDER, TARGETS[targets], WEIGHTS[weights])
    order = np.random.default_rng(1).permutation(len(rows))
    edges = [*range(0, len(rows), batch_size), len(rows)]
    batches = list(DeviceDataset(rows, torch.device(device)).batches(order, edges))
    assert len(batches) == len(edges) - 1
    for (batch, taken), start, stop in zip(batches, edges[:-1], edges[1:], strict=True):
        expected = tensors(*rows.take(order[start:stop]))
        for found, wanted in zip(tensors(batch, taken), expected, strict=True):
            assert found.device.type == device
            assert found.dtype == wanted.dtype
            assert torch.equal(found.cpu(), wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_on_a_device_keeps_the_order_of_columns(device):
    rows = SparseDataset(WIDER)
    generator = np.random.default_rng(0)
    order, edges = np.arange(len(rows))[::-1].copy(), [0, 300, 700]
    seen = set()
    for _ in range(60):
        for (batch, _), start in zip(
            DeviceDataset(rows, torch.device(device)).batches(
                order, edges, dropout=(2, 4), generator=generator
            ),
            edges,
            strict=False,
        ):
            offsets = batch.offsets.tolist()
            assert offsets[-1] == len(batch.ids)
            for place in range(0, len(batch), 37):
                row = order[start + place]
                whole = WIDER.indices[WIDER.indptr[row] : WIDER.indptr[row + 1]].tolist()
                kept = batch.ids[offsets[place] : offsets[place + 1]].tolist()
                assert min(2, len(whole)) <= len(kept) <= min(4, len(whole))
                # a subset, none twice, order kept
                assert [column for column in whole if column in kept] == kept
                seen |= {(row, column) for column in kept}
    assert all((order[0], column) in seen for column in WIDER.indices[WIDER.indptr[order[0]] :])


@pytest.mark.gpu
def test_rows_are_copied_to_a_device_once():
    batches = SparseBatches(
        SparseDataset(WIDER), 100, shuffle=True, generator=np.random.default_rng(0), device="cuda"
    )
    first = torch.cat([batch.ids for batch, _ in batches]).cpu()
    there = batches._on_device
    second = torch.cat([batch.ids for batch, _ in batches]).cpu()
    assert batches._on_device is there
    assert not torch.equal(first, second)
    assert torch.equal(first.sort().values, second.sort().values)
