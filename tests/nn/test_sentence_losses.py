"""Losses over blocks: the laws of all of them, and each against its formula, one pair at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import masked_mean, other_pairs, word_blocks

from ..oracles import sentence_losses as oracle

LOSSES = [
    SimilarityBXENT(),
    SimilarityBXENT(balance=True),
    CosineProximityLoss(),
    InfoNCELoss(0.3),
    VonMisesFisherLoss(3.0, contrast=0.5),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def unit_rows(n, d, seed):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@st.composite
def blocks_of_vectors(draw):
    """Draw unit rows and a block of each, in any order: alone in a block, all in one block, a single vector."""
    blocks = draw(st.lists(st.sampled_from([0, 1, 2, -5, 2**40]), min_size=1, max_size=9))
    rows = unit_rows(len(blocks), draw(st.integers(2, 6)), draw(st.integers(0, 2**32)))
    return rows, np.array(blocks, dtype=np.int64)


def tensors(rows, blocks, dtype=torch.float64):
    return torch.tensor(rows, dtype=dtype), torch.tensor(blocks)


@every_loss
@given(blocks_of_vectors(), st.randoms(use_true_random=False))
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
@given(blocks_of_vectors(), st.integers(0, 99))
def test_single_precision_is_near_double(loss, drawn, seed):
    _, blocks = drawn
    rows = unit_rows(len(blocks), 40, seed)  # of few columns some are opposite, and log(1 + cosine) is steep there
    expected = loss(*tensors(rows, blocks))
    torch.testing.assert_close(loss(*tensors(rows, blocks, torch.float32)).double(), expected, rtol=1e-4, atol=1e-5)


@every_loss
@pytest.mark.parametrize("blocks", [[0, 1, 0, 2, 1, 1], [0, 0, 0], [0, 1, 2], [4]])
def test_gradients(loss, blocks):
    # Normalized here, since the losses are not smooth for rows of other lengths.
    raw = torch.tensor(np.random.default_rng(1).normal(size=(len(blocks), 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda rows: loss(functional.normalize(rows), torch.tensor(blocks)), raw)


@every_loss
def test_gradient_descent_separates_blocks_and_joins_their_members(loss):
    torch.manual_seed(0)
    blocks = torch.arange(4).repeat_interleave(3)
    rows = torch.randn(12, 8, requires_grad=True)
    optimizer = torch.optim.Adam([rows], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        loss(functional.normalize(rows), blocks).backward()
        optimizer.step()
    cosines = functional.normalize(rows.detach()) @ functional.normalize(rows.detach()).T
    same = blocks.unsqueeze(1) == blocks
    assert cosines[same].min() > 0.9
    assert cosines[~same].max() < 0.5


@every_loss
def test_equal_and_opposite_vectors_have_finite_gradients(loss):
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
def test_wrong_shapes_are_refused(loss, rows, blocks):
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
        result = loss(rows.cuda(), blocks.cuda()).cpu()
    torch.testing.assert_close(result, loss(rows, blocks), rtol=1e-4, atol=1e-5)


@given(blocks_of_vectors(), st.booleans())
def test_bxent_follows_the_formula(drawn, balance):
    loss = SimilarityBXENT(balance=balance)(*tensors(*drawn))
    assert loss.item() == pytest.approx(oracle.similarity_bxent(*drawn, balance))


def test_bxent_of_the_reports_example():
    """A paragraph of two sentences and one of one; the report's matrix holds (1 + cosine) / 2."""
    predicted = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]])
    rows = torch.tensor(np.linalg.cholesky(2 * predicted - 1))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3, dtype=torch.float64))
    assert SimilarityBXENT()(rows, torch.tensor([0, 0, 1])).item() == pytest.approx(0.24237, abs=1e-5)
    assert SimilarityBXENT()(rows.float(), torch.tensor([0, 0, 1])).item() == pytest.approx(0.24237, abs=1e-5)


def test_bxent_clamps_probabilities():
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    loss = SimilarityBXENT()(rows, torch.tensor([0, 1, 0]))
    # Correct on the diagonal and for the two rows that differ in both; as wrong as possible for the other four entries.
    assert loss.item() == pytest.approx((4 * -math.log(1e-7) + 5 * -math.log(1 - 1e-7)) / 9, rel=1e-6)


@given(blocks_of_vectors())
def test_cosine_proximity_follows_the_formula(drawn):
    assert CosineProximityLoss()(*tensors(*drawn)).item() == pytest.approx(oracle.cosine_proximity(*drawn))


@given(blocks_of_vectors(), st.sampled_from([0.05, 0.4, 3.0]))
def test_info_nce_follows_the_formula(drawn, temperature):
    assert InfoNCELoss(temperature)(*tensors(*drawn)).item() == pytest.approx(oracle.info_nce(*drawn, temperature))


def test_info_nce_of_blocks_of_two_is_torchs_cross_entropy():
    rows = torch.tensor(unit_rows(8, 5, 0))
    scores = (rows @ rows.T / 0.1).fill_diagonal_(-torch.inf)
    partners = torch.arange(8) ^ 1
    expected = torch.nn.functional.cross_entropy(scores, partners)
    torch.testing.assert_close(InfoNCELoss(0.1)(rows, torch.arange(8) // 2), expected)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_info_nce_refuses_a_temperature_that_is_not_positive(temperature):
    with pytest.raises(ValueError, match=f"InfoNCELoss: temperature must be positive, got {temperature}"):
        InfoNCELoss(temperature)


@given(blocks_of_vectors(), st.sampled_from([0.5, 20.0, 300.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_von_mises_fisher_follows_the_formula(drawn, concentration, contrast):
    loss = VonMisesFisherLoss(concentration, contrast=contrast)(*tensors(*drawn))
    expected = oracle.von_mises_fisher(*drawn, concentration, contrast)
    assert loss.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def density(rows, direction, concentration):
    """Return the density at each row that one other vector predicts: the two halves of the loss of a pair are equal."""
    loss = VonMisesFisherLoss(concentration, contrast=0.0)
    pairs = (torch.stack([row, direction]) for row in torch.tensor(rows))
    return np.array([math.exp(-loss(pair, torch.tensor([0, 0])).item()) for pair in pairs])


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 30.0])
def test_von_mises_fisher_densities_integrate_to_one_on_circle_and_sphere(concentration):
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    densities = density(circle, torch.tensor([0.6, 0.8], dtype=torch.float64), concentration)
    assert densities.mean() * 2 * np.pi == pytest.approx(1)
    # On the sphere each height along the mean direction has the same area.
    heights, weights = np.polynomial.legendre.leggauss(60)
    points = np.stack([heights, np.sqrt(1 - heights**2), 0 * heights], axis=1)
    densities = density(points, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), concentration)
    assert (densities * weights).sum() * 2 * np.pi == pytest.approx(1)


@pytest.mark.parametrize("d", [1, 2, 512, 2000])
@pytest.mark.parametrize("concentration", [1.0, 40.0, 1000.0])
def test_the_gradient_of_the_log_normalizer_is_the_ratio_of_bessel_functions(d, concentration):
    """Section 3 of the paper: the gradient of log C is - I_(d/2) / I_(d/2 - 1), here by a continued fraction."""
    loss = VonMisesFisherLoss(concentration, contrast=0.0)
    length = torch.tensor(0.9 * concentration, dtype=torch.float64, requires_grad=True)
    prediction = torch.nn.functional.pad(length.reshape(1, 1), (0, d - 1))
    loss._log_normalizer(prediction).sum().backward()
    ratio = 0.0
    for order in range(4000, -1, -1):
        ratio = 1 / (2 * (d / 2 + order) / length.item() + ratio)
    assert length.grad.item() == pytest.approx(-ratio, rel=1e-9)


def test_von_mises_fisher_of_members_that_cancel_is_the_uniform_density():
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64, requires_grad=True)
    blocks = torch.tensor([0, 0, 0])
    loss = VonMisesFisherLoss(9.0, contrast=0.0)(rows, blocks)
    assert oracle.log_density(np.array([1.0, 0.0]), np.zeros(2)) == pytest.approx(-math.log(2 * math.pi))
    assert loss.item() == pytest.approx(oracle.von_mises_fisher(rows.detach().numpy(), blocks.numpy(), 9.0, 0.0))
    loss.backward()
    assert rows.grad.isfinite().all()


def test_von_mises_fisher_without_contrast_is_lowest_for_equal_vectors():
    point = torch.tensor([[0.6, 0.8]] * 4)
    corners = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    blocks = torch.tensor([0, 0, 1, 1])
    plain, contrasted = VonMisesFisherLoss(contrast=0.0), VonMisesFisherLoss()
    torch.testing.assert_close(plain(point, blocks), plain(corners, blocks))
    assert contrasted(point, blocks).item() == pytest.approx(math.log(2))
    assert contrasted(corners, blocks).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concentration": 0.0}, "concentration must be positive, got 0.0"),
        ({"concentration": math.nan}, "concentration must be positive, got nan"),
        ({"contrast": -1.0}, "contrast must not be negative, got -1.0"),
    ],
)
def test_von_mises_fisher_refuses_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=f"VonMisesFisherLoss: {message}"):
        VonMisesFisherLoss(**options)


@given(st.lists(st.lists(st.integers(-1, 5), min_size=4, max_size=4), max_size=5))
def test_word_blocks_have_each_distinct_word_of_a_sentence_once(sentences):
    words, blocks = word_blocks(torch.tensor(sentences, dtype=torch.int64).reshape(len(sentences), 4))
    expected = [(number, word) for number, words in enumerate(sentences) for word in sorted({*words} - {-1})]
    assert list(zip(blocks.tolist(), words.tolist(), strict=True)) == expected
    assert words.dtype == blocks.dtype == torch.int64
