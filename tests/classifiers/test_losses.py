"""Losses of rows against scikit-learn's and against their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from sklearn.preprocessing import label_binarize
from torch import nn

from sklearn_hashnlp.classifiers._losses import ROW_LOSSES, TreeLoss, make_row_loss
from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import huffman_tree

RNG = np.random.default_rng(0)
SCORES = 3 * RNG.normal(size=(40, 5))
CLASSES = RNG.integers(0, 5, 40)
INDICATORS = label_binarize(CLASSES, classes=range(5))
SEVERAL = RNG.integers(0, 2, (40, 5))


def losses(name, targets):
    return ROW_LOSSES[name]()(torch.from_numpy(SCORES), torch.from_numpy(targets)).numpy()


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


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_gradients(name):
    scores = torch.from_numpy(SCORES).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: ROW_LOSSES[name]()(s, torch.from_numpy(CLASSES)), (scores,))


def test_along_the_paths_of_a_tree():
    torch.manual_seed(0)
    layer = HierarchicalSoftmax(huffman_tree([9, 1, 4, 2, 2]), 5, dtype=torch.float64)
    torch.nn.init.normal_(layer.weight)
    loss, hidden, targets = TreeLoss(layer), torch.from_numpy(SCORES), torch.from_numpy(CLASSES)
    probabilities = loss.probabilities(hidden).detach().numpy()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    found = loss(hidden, targets).detach().numpy()
    np.testing.assert_allclose(found, -np.log(probabilities[np.arange(40), CLASSES]), rtol=1e-9)
    assert loss.right(hidden, targets).tolist() == (probabilities.argmax(axis=1) == CLASSES).tolist()


def test_right_rows_and_probabilities_of_scores():
    scores = torch.tensor([[0.0, 2.0, -1.0], [0.5, 0.1, -3.0]])
    softmax, ova = ROW_LOSSES["softmax"](), ROW_LOSSES["ova"]()
    assert softmax.right(scores, torch.tensor([1, 1])).tolist() == [True, False]
    assert ova.right(scores, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).tolist() == [True, False]
    assert torch.equal(softmax.probabilities(scores), scores.softmax(dim=1))
    assert torch.equal(ova.probabilities(scores), scores.sigmoid())


def test_a_loss_by_its_name_and_head():
    head = nn.Sequential(nn.Linear(2, 3))
    assert {name: type(make_row_loss(name, head)) for name in ROW_LOSSES} == ROW_LOSSES
    layer = HierarchicalSoftmax(huffman_tree(3), 2)
    assert make_row_loss("hsigmoid", nn.Sequential(layer)).layer is layer
