"""Losses over blocks: the laws of all of them, and each against its formula, one pair at a time."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import word_blocks

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
    """Draw unit rows and a block of each, in any order: alone in a block, all in one block, a
    single vector.
    """
    blocks = draw(st.lists(st.sampled_from([0, 1, 2, -5, 2**40]), min_size=1, max_size=9))
    rows = unit_rows(len(blocks), draw(st.integers(2, 6)), draw(st.integers(0, 2**32)))
    return rows, np.array(blocks, dtype=np.int64)


def tensors(rows, blocks, dtype=torch.float64):
    return torch.tensor(rows, dtype=dtype), torch.tensor(blocks)


@every_loss
@given(blocks_of_vectors(), st.integers(0, 99))
def test_single_precision_is_near_double(loss, drawn, seed):
    _, blocks = drawn
    # of few columns some are opposite, and log(1 + cosine) is steep there
    rows = unit_rows(len(blocks), 40, seed)
    expected = loss(*tensors(rows, blocks))
    torch.testing.assert_close(
        loss(*tensors(rows, blocks, torch.float32)).double(), expected, rtol=1e-4, atol=1e-5
    )


@every_loss
@pytest.mark.parametrize("blocks", [[0, 1, 0, 2, 1, 1], [0, 0, 0], [0, 1, 2], [4]])
def test_gradients(loss, blocks):
    # Normalized here, since the losses are not smooth for rows of other lengths.
    raw = torch.tensor(np.random.default_rng(1).normal(size=(len(blocks), 3)), requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda rows: loss(functional.normalize(rows), torch.tensor(blocks)), raw
    )


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
        ValueError,
        match=rf"{type(loss).__name__}: vectors must have shape .* got \({rows[0]},.*\) and",
    ):
        loss(torch.ones(rows), torch.zeros(blocks, dtype=torch.int64))


@pytest.mark.gpu
@every_loss
def test_cuda_agrees_with_the_cpu(loss):
    rows, blocks = tensors(unit_rows(30, 16, 0), np.arange(30) // 4, torch.float32)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        result = loss(rows.cuda(), blocks.cuda()).cpu()
    torch.testing.assert_close(result, loss(rows, blocks), rtol=1e-4, atol=1e-5)


FORMULAS = [
    *((SimilarityBXENT, (balance,), oracle.similarity_bxent) for balance in (False, True)),
    (CosineProximityLoss, (), oracle.cosine_proximity),
    *((InfoNCELoss, (temperature,), oracle.info_nce) for temperature in (0.05, 0.4, 3.0)),
    *(
        (VonMisesFisherLoss, (concentration, contrast), oracle.von_mises_fisher)
        for concentration, contrast in ((0.5, 0.5), (20.0, 0.0), (20.0, 1.0), (300.0, 0.5))
    ),
]


@pytest.mark.parametrize(
    ("kind", "options", "formula"), FORMULAS, ids=lambda part: getattr(part, "__name__", str(part))
)
@settings(max_examples=40)
@given(drawn=blocks_of_vectors())
def test_losses_follow_their_formulas(kind, options, formula, drawn):
    names = {SimilarityBXENT: ("balance",), VonMisesFisherLoss: ("concentration", "contrast")}
    loss = kind(**dict(zip(names[kind], options, strict=True))) if kind in names else kind(*options)
    assert loss(*tensors(*drawn)).item() == pytest.approx(
        formula(*drawn, *options), rel=1e-9, abs=1e-9
    )


def test_bxent_of_the_reports_example():
    """A paragraph of two sentences and one of one; the report's matrix holds (1 + cosine) / 2."""
    predicted = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]])
    rows = torch.tensor(np.linalg.cholesky(2 * predicted - 1))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3, dtype=torch.float64))
    assert SimilarityBXENT()(rows, torch.tensor([0, 0, 1])).item() == pytest.approx(
        0.24237, abs=1e-5
    )
    assert SimilarityBXENT()(rows.float(), torch.tensor([0, 0, 1])).item() == pytest.approx(
        0.24237, abs=1e-5
    )


@pytest.mark.parametrize(
    ("d", "concentration"), [(1, 40.0), (2, 1000.0), (512, 1.0), (2000, 1000.0)]
)
def test_the_log_normalizer_gradient_is_a_ratio_of_bessel_functions(d, concentration):
    """Section 3 of the paper: the gradient of log C is - I_(d/2) / I_(d/2 - 1), here by a continued
    fraction.
    """
    loss = VonMisesFisherLoss(concentration, contrast=0.0)
    length = torch.tensor(0.9 * concentration, dtype=torch.float64, requires_grad=True)
    prediction = torch.nn.functional.pad(length.reshape(1, 1), (0, d - 1))
    loss._log_normalizer(prediction).sum().backward()
    ratio = 0.0
    for order in range(4000, -1, -1):
        ratio = 1 / (2 * (d / 2 + order) / length.item() + ratio)
    assert length.grad.item() == pytest.approx(-ratio, rel=1e-9)


def test_von_mises_fisher_of_members_that_cancel_is_the_uniform_density():
    rows = torch.tensor(
        [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64, requires_grad=True
    )
    blocks = torch.tensor([0, 0, 0])
    loss = VonMisesFisherLoss(9.0, contrast=0.0)(rows, blocks)
    assert oracle.log_density(np.array([1.0, 0.0]), np.zeros(2)) == pytest.approx(
        -math.log(2 * math.pi)
    )
    assert loss.item() == pytest.approx(
        oracle.von_mises_fisher(rows.detach().numpy(), blocks.numpy(), 9.0, 0.0)
    )
    loss.backward()
    assert rows.grad.isfinite().all()


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        (InfoNCELoss, {"temperature": 0.0}, "temperature must be a number above 0, got 0.0"),
        (InfoNCELoss, {"temperature": math.nan}, "temperature must be a number above 0, got nan"),
        (
            VonMisesFisherLoss,
            {"concentration": 0.0},
            "concentration must be a number above 0, got 0.0",
        ),
        (
            VonMisesFisherLoss,
            {"concentration": math.nan},
            "concentration must be a number above 0, got nan",
        ),
        (
            VonMisesFisherLoss,
            {"contrast": -1.0},
            "contrast must be a number of at least 0, got -1.0",
        ),
    ],
)
def test_wrong_parameters_are_refused(loss, options, message):
    with pytest.raises(ValueError, match=f"{loss.__name__}: {message}"):
        loss(**options)


@given(st.lists(st.lists(st.integers(-1, 5), min_size=4, max_size=4), max_size=5))
def test_word_blocks_have_each_distinct_word_of_a_sentence_once(sentences):
    words, blocks = word_blocks(
        torch.tensor(sentences, dtype=torch.int64).reshape(len(sentences), 4)
    )
    expected = [
        (number, word) for number, words in enumerate(sentences) for word in sorted({*words} - {-1})
    ]
    assert list(zip(blocks.tolist(), words.tolist(), strict=True)) == expected
    assert words.dtype == blocks.dtype == torch.int64
