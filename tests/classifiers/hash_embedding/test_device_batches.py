"""Rows gathered by torch on a device are those that the kernel gathers on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import DeviceDataset, SparseBatches, SparseDataset

RNG = np.random.default_rng(0)
MATRIX = csr_array(random_array((700, 50), density=0.1, rng=RNG, dtype=np.float32))
TARGETS = {"numbers": RNG.integers(0, 5, 700), "indicators": RNG.integers(0, 2, (700, 3)).astype(np.float32)}
WEIGHTS = {"weighted": RNG.random(700).astype(np.float32), "unweighted": None}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def tensors(batch, targets):
    found = [batch.ids, batch.offsets, batch.weights, targets]
    return found if batch.row_weights is None else [*found, batch.row_weights]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("batch_size", [3, 7, 1000])  # 234 batches: more than are gathered at once
def test_batches_are_those_of_the_kernel(batch_size, targets, weights, device):
    rows = SparseDataset(MATRIX, TARGETS[targets], WEIGHTS[weights])
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
def test_dropout_keeps_a_random_number_of_columns_in_their_order(device):
    rows = SparseDataset(MATRIX)
    generator = np.random.default_rng(0)
    order, edges = np.arange(len(rows))[::-1].copy(), [0, 300, 700]
    seen = set()
    for _ in range(60):
        for (batch, _), start in zip(
            DeviceDataset(rows, torch.device(device)).batches(order, edges, dropout=(2, 4), generator=generator),
            edges,
            strict=False,
        ):
            offsets = batch.offsets.tolist()
            assert offsets[-1] == len(batch.ids)
            for place in range(0, len(batch), 37):
                row = order[start + place]
                whole = MATRIX.indices[MATRIX.indptr[row] : MATRIX.indptr[row + 1]].tolist()
                kept = batch.ids[offsets[place] : offsets[place + 1]].tolist()
                assert min(2, len(whole)) <= len(kept) <= min(4, len(whole))
                assert [column for column in whole if column in kept] == kept  # a subset, none twice, order kept
                seen |= {(row, column) for column in kept}
    assert all((order[0], column) in seen for column in MATRIX.indices[MATRIX.indptr[order[0]] :])


def test_dropout_draws_every_number_and_every_column_equally_often():
    matrix = csr_array(np.ones((6000, 6), dtype=np.float32))
    rows = DeviceDataset(SparseDataset(matrix), torch.device("cpu"))
    generator = np.random.default_rng(0)
    ((batch, _),) = rows.batches(np.arange(6000), [0, 6000], dropout=(1, 3), generator=generator)
    lengths = np.bincount(batch.offsets.diff().numpy())
    assert lengths[0] == 0
    assert (np.abs(lengths[1:] - 2000) < 200).all()
    assert (np.abs(np.bincount(batch.ids.numpy()) - 2000) < 200).all()


@pytest.mark.gpu
def test_the_rows_are_copied_once():
    batches = SparseBatches(SparseDataset(MATRIX), 100, shuffle=True, generator=np.random.default_rng(0), device="cuda")
    first = torch.cat([batch.ids for batch, _ in batches]).cpu()
    there = batches._on_device
    second = torch.cat([batch.ids for batch, _ in batches]).cpu()
    assert batches._on_device is there
    assert not torch.equal(first, second)
    assert torch.equal(first.sort().values, second.sort().values)
