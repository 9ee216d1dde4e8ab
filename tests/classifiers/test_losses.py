"""Losses of rows against scikit-learn's and against their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from sklearn.preprocessing import label_binarize
from torch import nn

from sklearn_hashnlp.classifiers._losses import (
    LOSSES,
    TreeLoss,
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
    [
        (CLASSES, INDICATORS),
        (INDICATORS.astype(float), INDICATORS),
        (SEVERAL.astype(np.float32), SEVERAL),
    ],
)
def test_one_class_against_all_others(targets, indicators):
    probabilities = 1 / (1 + np.exp(-SCORES))
    plain = -np.log(np.where(indicators == 1, probabilities, 1 - probabilities))
    np.testing.assert_allclose(losses("ova", targets), plain.sum(axis=1), rtol=1e-10)
    margins = np.maximum(0, 1 - np.where(indicators == 1, 1, -1) * SCORES)
    np.testing.assert_allclose(losses("hinge", targets), (margins**2).sum(axis=1), rtol=1e-12)


def test_along_the_paths_of_a_tree():
    torch.manual_seed(0)
    layer = HierarchicalSoftmax(huffman_tree([9, 1, 4, 2, 2]), 5, dtype=torch.float64)
    torch.nn.init.normal_(layer.weight)
    loss = TreeLoss(layer=layer)
    hidden = torch.from_numpy(SCORES)
    targets = torch.from_numpy(CLASSES)
    probabilities = loss.probabilities(loss.scores(hidden).detach().numpy())
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    found = loss(hidden, targets).detach().numpy()
    np.testing.assert_allclose(found, -np.log(probabilities[np.arange(40), CLASSES]), rtol=1e-9)
    assert (
        loss.correct(hidden, targets).tolist() == (probabilities.argmax(axis=1) == CLASSES).tolist()
    )


def test_correct_rows():
    scores = torch.tensor([[0.0, 2.0, -1.0], [0.5, 0.1, -3.0]])
    softmax, ova = LOSSES["softmax"](), LOSSES["ova"]()
    assert softmax.correct(scores, torch.tensor([1, 1])).tolist() == [True, False]
    assert ova.correct(scores, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).tolist() == [
        True,
        False,
    ]


def test_a_loss_by_its_name_and_head():
    head = nn.Sequential(nn.Linear(2, 3))
    assert {name: type(make_loss(name, head)) for name in LOSSES} == LOSSES
    layer = HierarchicalSoftmax(huffman_tree(3), 2)
    assert make_loss("hsigmoid", nn.Sequential(layer)).layer is layer


def test_a_loss_comes_back():
    values = loss_to_values(make_loss("hinge", inverse_temperature=2.5))
    again = loss_from_values(values)
    assert (again.name, again.multilabel, again.inverse_temperature) == ("hinge", False, 2.5)
    assert loss_from_values(loss_to_values(make_loss("ova", multilabel=True))).multilabel


OTHER_SCORES = RNG.normal(0, 2, (50, 4))


def softmax(scores):
    odds = np.exp(scores)
    return odds / odds.sum(axis=1, keepdims=True)


def test_the_formulas_by_hand():
    sigmoids = 1 / (1 + np.exp(-OTHER_SCORES))
    found = {
        name: make_loss(name, inverse_temperature=3.0).probabilities(OTHER_SCORES)
        for name in ("ova", "hinge")
    }
    np.testing.assert_allclose(
        make_loss("softmax").probabilities(OTHER_SCORES), softmax(OTHER_SCORES), rtol=1e-12
    )
    np.testing.assert_allclose(found["hinge"], softmax(3 * OTHER_SCORES), rtol=1e-12)
    np.testing.assert_allclose(
        found["ova"], sigmoids**3 / (sigmoids**3).sum(axis=1, keepdims=True), rtol=1e-12
    )
    several = make_loss("ova", multilabel=True, inverse_temperature=3.0)
    np.testing.assert_allclose(
        several.probabilities(OTHER_SCORES), 1 / (1 + np.exp(-3 * OTHER_SCORES)), rtol=1e-12
    )


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_scores_of_any_size(loss):
    scores = np.array([[-1e4, -2e4], [3e4, -1e4], [-1e4, -1e4]])
    probabilities = make_loss(loss).probabilities(scores)
    np.testing.assert_allclose(probabilities, [[1, 0], [1, 0], [0.5, 0.5]], atol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_log_odds_belong_to_the_probabilities(loss):
    made = make_loss(loss, inverse_temperature=1.0 if loss == "softmax" else 2.0)
    found = made.probabilities(OTHER_SCORES[:, :2])
    np.testing.assert_allclose(
        made.log_odds(OTHER_SCORES[:, :2]), np.log(found[:, 1] / found[:, 0]), rtol=1e-9
    )
    if loss == "softmax":
        assert (
            made.log_odds(OTHER_SCORES[:, :2]).tolist()
            == (OTHER_SCORES[:, 1] - OTHER_SCORES[:, 0]).tolist()
        )


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"hsigmoid", "soft_softmax"}))
def test_the_best_constant_scores_have_no_gradient(name):
    """The losses are convex: where the gradient is zero, they are smallest."""
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    scores = torch.from_numpy(LOSSES[name]().best_constant(shares)).requires_grad_()
    each = LOSSES[name]()(scores.expand(4, 4), torch.arange(4))
    (torch.from_numpy(shares) * each).sum().backward()
    assert scores.grad.abs().max() < 1e-12
    if LOSSES[name].takes_several_labels:
        several = torch.from_numpy(SEVERAL).double()
        scores = torch.from_numpy(
            LOSSES[name]().best_constant(SEVERAL.mean(axis=0))
        ).requires_grad_()
        LOSSES[name]()(scores.expand(40, 5), several).sum().backward()
        assert scores.grad.abs().max() < 1e-12


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"hsigmoid", "soft_softmax"}))
def test_no_second_difference_of_a_loss_is_larger_than_its_curvature(name):
    bases = torch.from_numpy(np.stack([*SCORES, np.zeros(5), [0, 0, -40, -40, -40]]))
    labels = torch.zeros(len(bases), dtype=torch.long)
    step = 1e-3
    largest = 0.0
    for direction in [*RNG.normal(size=(20, 5)), np.eye(5)[0], np.eye(5)[0] - np.eye(5)[1]]:
        move = step * torch.from_numpy(direction / np.linalg.norm(direction))
        minus, middle, plus = (
            LOSSES[name]()(scores, labels) for scores in (bases - move, bases, bases + move)
        )
        largest = max(largest, float((plus - 2 * middle + minus).max()) / step**2)
    assert largest == pytest.approx(LOSSES[name].curvature, rel=1e-3)


def test_exported_predictors_have_the_links_of_all_losses():
    # _standalone_common._class_probabilities takes any other link as "identity".
    assert {loss.link for loss in LOSSES.values() if loss.has_temperature} <= {
        "identity",
        "log_sigmoid",
    }
