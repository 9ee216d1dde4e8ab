from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import InfoNCELoss

from .block_structures import BLOCKS_OF_VECTORS, unit_rows


def by_hand(rows, blocks, temperature):
    losses = []
    for i, row in enumerate(rows):
        scores = {j: float(row @ other) / temperature for j, other in enumerate(rows) if j != i}
        total = sum(map(math.exp, scores.values()))
        own = [-math.log(math.exp(score) / total) for j, score in scores.items() if blocks[j] == blocks[i]]
        if own:
            losses.append(sum(own) / len(own))
    return sum(losses) / len(losses) if losses else 0.0


@given(BLOCKS_OF_VECTORS, st.sampled_from([0.05, 0.4, 3.0]))
def test_the_loss_is_that_of_the_formula(drawn, temperature):
    rows, blocks = drawn
    loss = InfoNCELoss(temperature)(torch.tensor(rows), torch.tensor(blocks))
    assert loss.item() == pytest.approx(by_hand(rows, blocks, temperature))


def test_blocks_of_two_are_torchs_cross_entropy():
    rows = torch.tensor(unit_rows(8, 5, 0))
    scores = (rows @ rows.T / 0.1).fill_diagonal_(-torch.inf)
    partners = torch.arange(8) ^ 1
    expected = torch.nn.functional.cross_entropy(scores, partners)
    torch.testing.assert_close(InfoNCELoss(0.1)(rows, torch.arange(8) // 2), expected)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_that_will_not_do_is_named(temperature):
    with pytest.raises(ValueError, match=f"InfoNCELoss: temperature must be positive, got {temperature}"):
        InfoNCELoss(temperature)
