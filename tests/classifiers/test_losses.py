"""Losses of rows against scikit-learn's and against their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss
from sklearn.preprocessing import label_binarize
from torch import nn

from sklearn_hashnlp.classifiers._losses import (
    LOSSES,
    TreeLoss,
    fit_inverse_temperature,
    loss_from_values,
    loss_to_values,
    make_loss,
)
from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import huffman_tree

RNG = np.random.default_rng(0)
SCORES = 3 * RNG.normal(size=(40, 5))
CLASSES = RNG.integers(0, 5, 40)
INDICATORS = label_binarize(CLASSES, classes=range(5))
SEVERAL = RNG.integers(0, 2, (40, 5))


def losses(name, targets):
    return LOSSES[name]()(torch.from_numpy(SCORES), torch.from_numpy(targets)).numpy()


def test_softmax():
    odds = np.exp(SCORES)
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    found = losses("softmax", CLASSES)
    np.testing.assert_allclose(found, -np.log(probabilities[np.arange(40), CLASSES]), rtol=1e-12)
    np.testing.assert_allclose(found.mean(), log_loss(CLASSES, probabilities), rtol=1e-12)


@pytest.mark.parametrize(
    ("targets", "indicators"),
    [(CLASSES, INDICATORS), (INDICATORS.astype(float), INDICATORS), (SEVERAL.astype(np.float32), SEVERAL)],
)
def test_one_class_against_all_others(targets, indicators):
    probabilities = 1 / (1 + np.exp(-SCORES))
    plain = [
        [log_loss([t], [p], labels=[0, 1]) for t, p in zip(*row, strict=True)]
        for row in zip(indicators, probabilities, strict=True)
    ]
    np.testing.assert_allclose(losses("ova", targets), np.sum(plain, axis=1), rtol=1e-10)
    margins = np.maximum(0, 1 - np.where(indicators == 1, 1, -1) * SCORES)
    np.testing.assert_allclose(losses("hinge", targets), (margins**2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "ova", "hinge"])
def test_gradients(name):
    scores = torch.from_numpy(SCORES).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: LOSSES[name]()(s, torch.from_numpy(CLASSES)), (scores,))


def test_along_the_paths_of_a_tree():
    torch.manual_seed(0)
    layer = HierarchicalSoftmax(huffman_tree([9, 1, 4, 2, 2]), 5, dtype=torch.float64)
    torch.nn.init.normal_(layer.weight)
    loss, hidden, targets = TreeLoss(layer=layer), torch.from_numpy(SCORES), torch.from_numpy(CLASSES)
    probabilities = loss.probabilities(loss.scores(hidden).detach().numpy())
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    found = loss(hidden, targets).detach().numpy()
    np.testing.assert_allclose(found, -np.log(probabilities[np.arange(40), CLASSES]), rtol=1e-9)
    assert loss.correct(hidden, targets).tolist() == (probabilities.argmax(axis=1) == CLASSES).tolist()


def test_correct_rows():
    scores = torch.tensor([[0.0, 2.0, -1.0], [0.5, 0.1, -3.0]])
    softmax, ova = LOSSES["softmax"](), LOSSES["ova"]()
    assert softmax.correct(scores, torch.tensor([1, 1])).tolist() == [True, False]
    assert ova.correct(scores, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).tolist() == [True, False]


def test_a_loss_by_its_name_and_head():
    head = nn.Sequential(nn.Linear(2, 3))
    assert {name: type(make_loss(name, head)) for name in LOSSES} == LOSSES
    layer = HierarchicalSoftmax(huffman_tree(3), 2)
    assert make_loss("hsigmoid", nn.Sequential(layer)).layer is layer


def test_a_loss_comes_back_and_the_first_models_had_the_softmax():
    values = loss_to_values(make_loss("hinge", inverse_temperature=2.5))
    again = loss_from_values(values)
    assert (again.name, again.multilabel, again.inverse_temperature) == ("hinge", False, 2.5)
    assert loss_from_values(loss_to_values(make_loss("ova", multilabel=True))).multilabel
    assert loss_from_values({}).name == "softmax"


OTHER_SCORES = RNG.normal(0, 2, (50, 4))


def softmax(scores):
    odds = np.exp(scores)
    return odds / odds.sum(axis=1, keepdims=True)


def test_the_formulas_by_hand():
    sigmoids = 1 / (1 + np.exp(-OTHER_SCORES))
    found = {name: make_loss(name, inverse_temperature=3.0).probabilities(OTHER_SCORES) for name in ("ova", "hinge")}
    np.testing.assert_allclose(make_loss("softmax").probabilities(OTHER_SCORES), softmax(OTHER_SCORES), rtol=1e-12)
    np.testing.assert_allclose(found["hinge"], softmax(3 * OTHER_SCORES), rtol=1e-12)
    np.testing.assert_allclose(found["ova"], sigmoids / sigmoids.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(make_loss("ova", multilabel=True).probabilities(OTHER_SCORES), sigmoids, rtol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_scores_of_any_size(loss):
    scores = np.array([[-1e4, -2e4], [3e4, -1e4], [-1e4, -1e4]])
    probabilities = make_loss(loss).probabilities(scores)
    np.testing.assert_allclose(probabilities, [[1, 0], [1, 0], [0.5, 0.5]], atol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_log_odds_belong_to_the_probabilities(loss):
    made = make_loss(loss, inverse_temperature=2.0 if loss == "hinge" else 1.0)
    found = made.probabilities(OTHER_SCORES[:, :2])
    np.testing.assert_allclose(made.log_odds(OTHER_SCORES[:, :2]), np.log(found[:, 1] / found[:, 0]), rtol=1e-9)
    if loss == "softmax":
        assert made.log_odds(OTHER_SCORES[:, :2]).tolist() == (OTHER_SCORES[:, 1] - OTHER_SCORES[:, 0]).tolist()


@pytest.mark.parametrize("inverse_temperature", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_inverse_temperature_that_drew_the_targets_is_found(inverse_temperature, n_classes):
    scores = RNG.normal(0, 1, (20_000, n_classes))
    targets = (softmax(inverse_temperature * scores).cumsum(axis=1) < RNG.random((20_000, 1))).sum(axis=1)
    assert fit_inverse_temperature(scores, targets, None) == pytest.approx(inverse_temperature, rel=0.05)


def test_it_is_the_maximum_of_the_likelihood_with_smoothed_targets():
    targets, weights = RNG.integers(0, 4, 50), RNG.random(50).astype(np.float32)
    targets = np.where(RNG.random(50) < 0.5, OTHER_SCORES.argmax(axis=1), targets)
    aim = np.full((50, 4), 1 / 54)
    aim[np.arange(50), targets] = 51 / 54

    def loss(factor):
        return -(weights[:, None] * aim * np.log(softmax(factor * OTHER_SCORES))).sum()

    expected = minimize_scalar(loss, bounds=(0, 10), method="bounded").x
    assert 0.1 < expected < 5
    assert fit_inverse_temperature(OTHER_SCORES, targets, weights) == pytest.approx(expected, rel=1e-3)


def test_rows_of_greater_weight_have_more_say():
    scores, targets = np.array([[1.0, 0.0]] * 10), np.array([0] * 7 + [1] * 3)
    heavy = np.array([10] * 7 + [1] * 3, dtype=np.float32)
    assert fit_inverse_temperature(scores, targets, heavy) > fit_inverse_temperature(scores, targets, None)


def test_weights_that_are_all_zero_are_none():
    targets = RNG.integers(0, 4, 50)
    assert fit_inverse_temperature(OTHER_SCORES, targets, np.zeros(50, dtype=np.float32)) == fit_inverse_temperature(
        OTHER_SCORES, targets, None
    )


def test_what_was_known_counts_by_its_rows():
    """The maximum of the likelihood where the known one draws the labels of as many rows as it counts for."""
    targets = RNG.integers(0, 4, 50)
    aim = np.full((50, 4), 1 / 204)
    aim[np.arange(50), targets] = 201 / 204
    aim = 0.25 * aim + 0.75 * softmax(2 * OTHER_SCORES)

    def loss(factor):
        return -(aim * np.log(softmax(factor * OTHER_SCORES))).sum()

    expected = minimize_scalar(loss, bounds=(1e-3, 10), method="bounded").x
    found = fit_inverse_temperature(OTHER_SCORES, targets, None, known=2.0, known_rows=150)
    assert found == pytest.approx(expected, rel=1e-3)
    assert fit_inverse_temperature(OTHER_SCORES, targets, None) < found < 2


def test_one_row_at_a_time_leads_where_all_rows_would():
    scores = RNG.normal(0, 1, (5000, 3))
    targets = (softmax(3 * scores).cumsum(axis=1) < RNG.random((5000, 1))).sum(axis=1)
    found = fit_inverse_temperature(scores[:50], targets[:50], None)
    for row in range(50, 5000):
        one = slice(row, row + 1)
        found = fit_inverse_temperature(scores[one], targets[one], None, known=found, known_rows=row)
    assert found == pytest.approx(fit_inverse_temperature(scores, targets, None), rel=0.05)


def test_scores_that_tell_all_rows_right_have_a_finite_inverse_temperature():
    scores = np.repeat(np.eye(3), 100, axis=0)
    found = fit_inverse_temperature(scores, np.repeat(np.arange(3), 100), None)
    # 301 of 303 for the row's class and 1 of 303 for another: odds of 301
    assert found == pytest.approx(np.log(301), rel=1e-3)


def test_scores_that_say_nothing():
    found = fit_inverse_temperature(np.zeros((10, 2)), np.arange(10) % 2, None)
    assert np.isfinite(found)
    assert found > 0
