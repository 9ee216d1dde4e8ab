"""What holds for every loss over blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import masked_mean, other_pairs

from .block_structures import BLOCKS_OF_VECTORS, unit_rows

LOSSES = [
    SimilarityBXENT(),
    SimilarityBXENT(balance=True),
    CosineProximityLoss(),
    InfoNCELoss(0.3),
    VonMisesFisherLoss(3.0, contrast=0.5),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def tensors(rows, blocks, dtype=torch.float64):
    return torch.tensor(rows, dtype=dtype), torch.tensor(blocks)


@every_loss
@given(BLOCKS_OF_VECTORS, st.randoms(use_true_random=False))
def test_order_and_names_of_blocks_do_not_matter(loss, drawn, random):
    rows, blocks = drawn
    order = list(range(len(rows)))
    random.shuffle(order)
    expected = loss(*tensors(rows, blocks))
    assert expected.shape == ()
    assert expected.isfinite()
    torch.testing.assert_close(loss(*tensors(rows[order], blocks[order])), expected)
    torch.testing.assert_close(loss(*tensors(rows, 7 - blocks)), expected)


@every_loss
@given(BLOCKS_OF_VECTORS, st.integers(0, 99))
def test_single_precision_is_near_double(loss, drawn, seed):
    _, blocks = drawn
    rows = unit_rows(len(blocks), 40, seed)  # of few columns some are opposite, and log(1 + cosine) is steep there
    expected = loss(*tensors(rows, blocks))
    torch.testing.assert_close(loss(*tensors(rows, blocks, torch.float32)).double(), expected, rtol=1e-4, atol=1e-5)


@every_loss
@pytest.mark.parametrize("blocks", [[0, 1, 0, 2, 1, 1], [0, 0, 0], [0, 1, 2], [4]])
def test_gradients(loss, blocks):
    # Any rows, scaled to length one, since what a loss says of others is not smooth.
    raw = torch.tensor(np.random.default_rng(1).normal(size=(len(blocks), 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda rows: loss(functional.normalize(rows), torch.tensor(blocks)), raw)


@every_loss
def test_a_step_down_the_gradient_parts_blocks_and_joins_their_members(loss):
    torch.manual_seed(0)
    blocks = torch.arange(5).repeat_interleave(4)
    rows = torch.randn(20, 8, requires_grad=True)
    optimiser = torch.optim.Adam([rows], lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        loss(functional.normalize(rows), blocks).backward()
        optimiser.step()
    cosines = functional.normalize(rows.detach()) @ functional.normalize(rows.detach()).T
    same = blocks.unsqueeze(1) == blocks
    assert cosines[same].min() > 0.9
    assert cosines[~same].max() < 0.5


@every_loss
def test_vectors_that_are_all_the_same_are_no_trouble(loss):
    rows = torch.tensor([[0.6, 0.8]] * 4, requires_grad=True)
    loss(rows, torch.tensor([0, 0, 1, 2])).backward()
    assert rows.grad.isfinite().all()
    opposite = torch.tensor([[0.6, 0.8], [-0.6, -0.8], [0.0, 0.0]], requires_grad=True)
    loss(opposite, torch.tensor([0, 0, 0])).backward()
    assert opposite.grad.isfinite().all()


@every_loss
def test_autocast_changes_nothing(loss):
    arguments = tensors(unit_rows(6, 40, 0), [0, 1, 0, 2, 1, 1], torch.float32)
    expected = loss(*arguments)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(*arguments), expected)
        assert loss(arguments[0].bfloat16(), arguments[1]).dtype == torch.float32


@every_loss
@pytest.mark.parametrize(("rows", "blocks"), [((0, 3), 0), ((3,), 3), ((3, 2), 2)])
def test_shapes_that_do_not_fit_are_named(loss, rows, blocks):
    with pytest.raises(
        ValueError, match=rf"{type(loss).__name__}: vectors must have shape .* got \({rows[0]},.*\) and"
    ):
        loss(torch.ones(rows), torch.zeros(blocks, dtype=torch.int64))


def test_means_and_pairs():
    values = torch.tensor([1.0, torch.inf, 3.0, torch.nan])
    assert masked_mean(values, torch.tensor([True, False, True, False])).item() == 2
    assert masked_mean(values, torch.zeros(4, dtype=torch.bool)).item() == 0
    same = torch.tensor([[True, True, False], [True, True, False], [False, False, True]])
    assert other_pairs(same).nonzero().tolist() == [[0, 1], [1, 0]]


@pytest.mark.gpu
@every_loss
def test_cuda_agrees_with_the_cpu(loss):
    rows, blocks = tensors(unit_rows(30, 16, 0), np.arange(30) // 4, torch.float32)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = loss(rows.cuda(), blocks.cuda()).cpu()
    torch.testing.assert_close(found, loss(rows, blocks), rtol=1e-4, atol=1e-5)
