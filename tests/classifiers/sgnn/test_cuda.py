"""Dense rows on CUDA."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.classifiers.sgnn._dense_net import DenseDataset
from sklearn_hashnlp.training._batches import Batches

RNG = np.random.default_rng(0)
MATRIX = RNG.integers(0, 100, (37, 5)).astype(np.uint8)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "weights", [None, RNG.random(37).astype(np.float32)], ids=["unweighted", "weighted"]
)
def test_batches_on_cuda_are_those_of_the_cpu(weights):
    rows = DenseDataset(MATRIX, np.arange(37), weights)
    here, there = (
        Batches(rows, 10, shuffle=True, generator=np.random.default_rng(0), device=device)
        for device in ("cpu", "cuda")
    )
    for (batch, targets), (batch_there, targets_there) in zip(here, there, strict=True):
        assert batch_there.values.is_cuda
        assert torch.equal(batch_there.values.cpu(), batch.values)
        assert torch.equal(targets_there.cpu(), targets)
        if weights is not None:
            assert torch.equal(batch_there.row_weights.cpu(), batch.row_weights)
