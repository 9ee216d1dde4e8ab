from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from sklearn_hashnlp.nn import CosineProximityLoss

from .block_structures import BLOCKS_OF_VECTORS


def by_hand(rows, blocks):
    together, apart = [], []
    for i, (one, block) in enumerate(zip(rows, blocks, strict=True)):
        for j, (other, other_block) in enumerate(zip(rows, blocks, strict=True)):
            if block != other_block:
                apart.append(max(0.0, float(one @ other)))
            elif i != j:
                together.append(1 - float(one @ other))
    return (np.mean(together) if together else 0.0) + (np.mean(apart) if apart else 0.0)


@given(BLOCKS_OF_VECTORS)
def test_the_loss_is_that_of_the_formula(drawn):
    rows, blocks = drawn
    loss = CosineProximityLoss()(torch.tensor(rows), torch.tensor(blocks))
    assert loss.item() == pytest.approx(by_hand(rows, blocks))
