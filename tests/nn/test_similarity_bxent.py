from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import SimilarityBXENT

from .block_structures import BLOCKS_OF_VECTORS


def by_hand(rows, blocks, balance):
    entries = {True: [], False: []}
    for one, block in zip(rows, blocks, strict=True):
        for other, other_block in zip(rows, blocks, strict=True):
            p = min(max((1 + float(one @ other)) / 2, 1e-7), 1 - 1e-7)
            target = float(block == other_block)
            entries[block == other_block].append(-(target * math.log(p) + (1 - target) * math.log(1 - p)))
    if balance:
        return sum(sum(part) / len(part) / 2 for part in entries.values() if part)
    return sum(map(sum, entries.values())) / len(rows) ** 2


@given(BLOCKS_OF_VECTORS, st.booleans())
def test_the_loss_is_that_of_the_formula(drawn, balance):
    rows, blocks = drawn
    loss = SimilarityBXENT(balance=balance)(torch.tensor(rows), torch.tensor(blocks))
    assert loss.item() == pytest.approx(by_hand(rows, blocks, balance))


def test_the_reports_example():
    """A paragraph of two sentences and one of one; the report's matrix holds (1 + cosine) / 2."""
    predicted = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]])
    rows = torch.tensor(np.linalg.cholesky(2 * predicted - 1))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3, dtype=torch.float64))
    assert SimilarityBXENT()(rows, torch.tensor([0, 0, 1])).item() == pytest.approx(0.24237, abs=1e-5)
    assert SimilarityBXENT()(rows.float(), torch.tensor([0, 0, 1])).item() == pytest.approx(0.24237, abs=1e-5)


def test_probabilities_are_clamped():
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    loss = SimilarityBXENT()(rows, torch.tensor([0, 1, 0]))
    # Right on the diagonal and for the two rows that differ in both; wrong as can be for the other four entries.
    assert loss.item() == pytest.approx((4 * -math.log(1e-7) + 5 * -math.log(1 - 1e-7)) / 9, rel=1e-6)
