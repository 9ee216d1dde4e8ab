from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ive

from sklearn_hashnlp.nn import VonMisesFisherLoss

from .block_structures import BLOCKS_OF_VECTORS


def log_density(row, prediction):
    """log f(row; prediction), with scipy's Bessel function and, for no concentration at all, the sphere's area."""
    d, k = len(row), float(np.linalg.norm(prediction))
    if k < 1e-9:
        return math.lgamma(d / 2) - math.log(2) - d / 2 * math.log(math.pi)
    log_bessel = math.log(ive(d / 2 - 1, k)) + k
    return (d / 2 - 1) * math.log(k) - d / 2 * math.log(2 * math.pi) - log_bessel + float(row @ prediction)


def by_hand(rows, blocks, concentration, contrast):
    losses = []
    for i, row in enumerate(rows):
        log_densities = {}
        for block in set(blocks.tolist()):
            members = [rows[j] for j in range(len(rows)) if blocks[j] == block and j != i]
            if members:
                log_densities[block] = log_density(row, concentration * np.mean(members, axis=0))
        if blocks[i] in log_densities:
            losses.append(contrast * np.logaddexp.reduce(list(log_densities.values())) - log_densities[blocks[i]])
    return np.mean(losses) if losses else 0.0


@given(BLOCKS_OF_VECTORS, st.sampled_from([0.5, 20.0, 300.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_loss_is_that_of_the_formula(drawn, concentration, contrast):
    rows, blocks = drawn
    loss = VonMisesFisherLoss(concentration, contrast=contrast)(torch.tensor(rows), torch.tensor(blocks))
    assert loss.item() == pytest.approx(by_hand(rows, blocks, concentration, contrast), rel=1e-9, abs=1e-9)


def density(rows, direction, concentration):
    """The density at each row, when one other vector predicts it: the loss of a pair, its two halves being equal."""
    loss = VonMisesFisherLoss(concentration, contrast=0.0)
    pairs = (torch.stack([row, direction]) for row in torch.tensor(rows))
    return np.array([math.exp(-loss(pair, torch.tensor([0, 0])).item()) for pair in pairs])


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 30.0])
def test_densities_add_up_to_one_on_circle_and_sphere(concentration):
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = density(circle, torch.tensor([0.6, 0.8], dtype=torch.float64), concentration)
    assert found.mean() * 2 * np.pi == pytest.approx(1)
    # On the sphere each height along the mean direction has the same area.
    heights, shares = np.polynomial.legendre.leggauss(60)
    points = np.stack([heights, np.sqrt(1 - heights**2), 0 * heights], axis=1)
    found = density(points, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), concentration)
    assert (found * shares).sum() * 2 * np.pi == pytest.approx(1)


@pytest.mark.parametrize("d", [1, 2, 512, 2000])
@pytest.mark.parametrize("concentration", [1.0, 40.0, 1000.0])
def test_the_normalisers_slope_is_the_ratio_of_bessel_functions(d, concentration):
    """Section 3 of the paper: the gradient of log C is - I_(d/2) / I_(d/2 - 1), here by a continued fraction."""
    loss = VonMisesFisherLoss(concentration, contrast=0.0)
    length = torch.tensor(0.9 * concentration, dtype=torch.float64, requires_grad=True)
    prediction = torch.nn.functional.pad(length.reshape(1, 1), (0, d - 1))
    loss._log_normalizer(prediction).sum().backward()
    ratio = 0.0
    for order in range(4000, -1, -1):
        ratio = 1 / (2 * (d / 2 + order) / length.item() + ratio)
    assert length.grad.item() == pytest.approx(-ratio, rel=1e-9)


def test_members_that_disagree_predict_nothing():
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64, requires_grad=True)
    blocks = torch.tensor([0, 0, 0])
    loss = VonMisesFisherLoss(9.0, contrast=0.0)(rows, blocks)
    assert log_density(np.array([1.0, 0.0]), np.zeros(2)) == pytest.approx(-math.log(2 * math.pi))
    assert loss.item() == pytest.approx(by_hand(rows.detach().numpy(), blocks.numpy(), 9.0, 0.0))
    loss.backward()
    assert rows.grad.isfinite().all()


def test_without_contrast_the_best_is_one_point_for_all_and_with_it_not():
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
def test_what_will_not_do_is_named(options, message):
    with pytest.raises(ValueError, match=f"VonMisesFisherLoss: {message}"):
        VonMisesFisherLoss(**options)
