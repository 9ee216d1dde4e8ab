"""Scores become probabilities by the formula of each loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sklearn_hashnlp.classifiers._losses import Probabilities, fit_sharpness

RNG = np.random.default_rng(0)
SCORES = RNG.normal(0, 2, (50, 4))


def softmax(scores):
    odds = np.exp(scores)
    return odds / odds.sum(axis=1, keepdims=True)


def test_the_formulas_by_hand():
    sigmoids = 1 / (1 + np.exp(-SCORES))
    found = {loss: Probabilities(loss, multilabel=False, sharpness=3.0)(SCORES) for loss in ("ova", "hinge")}
    np.testing.assert_allclose(Probabilities("softmax", multilabel=False)(SCORES), softmax(SCORES), rtol=1e-12)
    np.testing.assert_allclose(found["hinge"], softmax(3 * SCORES), rtol=1e-12)
    np.testing.assert_allclose(found["ova"], sigmoids / sigmoids.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(Probabilities("ova", multilabel=True)(SCORES), sigmoids, rtol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_scores_of_any_size(loss):
    scores = np.array([[-1e4, -2e4], [3e4, -1e4], [-1e4, -1e4]])
    probabilities = Probabilities(loss, multilabel=False)(scores)
    np.testing.assert_allclose(probabilities, [[1, 0], [1, 0], [0.5, 0.5]], atol=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge"])
def test_log_odds_belong_to_the_probabilities(loss):
    probabilities = Probabilities(loss, multilabel=False, sharpness=2.0 if loss == "hinge" else 1.0)
    found = probabilities(SCORES[:, :2])
    np.testing.assert_allclose(probabilities.log_odds(SCORES[:, :2]), np.log(found[:, 1] / found[:, 0]), rtol=1e-9)
    if loss == "softmax":
        assert probabilities.log_odds(SCORES[:, :2]).tolist() == (SCORES[:, 1] - SCORES[:, 0]).tolist()


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_sharpness_that_drew_the_targets_is_found(sharpness, n_classes):
    scores = RNG.normal(0, 1, (20_000, n_classes))
    targets = (softmax(sharpness * scores).cumsum(axis=1) < RNG.random((20_000, 1))).sum(axis=1)
    assert fit_sharpness(scores, targets, None) == pytest.approx(sharpness, rel=0.05)


def test_it_is_the_maximum_of_the_likelihood_with_smoothed_targets():
    targets, weights = RNG.integers(0, 4, 50), RNG.random(50).astype(np.float32)
    targets = np.where(RNG.random(50) < 0.5, SCORES.argmax(axis=1), targets)
    aim = np.full((50, 4), 1 / 54)
    aim[np.arange(50), targets] = 51 / 54

    def loss(sharpness):
        return -(weights[:, None] * aim * np.log(softmax(sharpness * SCORES))).sum()

    expected = minimize_scalar(loss, bounds=(0, 10), method="bounded").x
    assert 0.1 < expected < 5
    assert fit_sharpness(SCORES, targets, weights) == pytest.approx(expected, rel=1e-3)


def test_rows_of_greater_weight_have_more_say():
    scores, targets = np.array([[1.0, 0.0]] * 10), np.array([0] * 7 + [1] * 3)
    heavy = np.array([10] * 7 + [1] * 3, dtype=np.float32)
    assert fit_sharpness(scores, targets, heavy) > fit_sharpness(scores, targets, None)


def test_weights_that_are_all_zero_are_none():
    targets = RNG.integers(0, 4, 50)
    assert fit_sharpness(SCORES, targets, np.zeros(50, dtype=np.float32)) == fit_sharpness(SCORES, targets, None)


def test_what_was_known_counts_by_its_rows():
    """The maximum of the likelihood where the old sharpness draws the labels of as many rows as stand behind it."""
    targets = RNG.integers(0, 4, 50)
    aim = np.full((50, 4), 1 / 204)
    aim[np.arange(50), targets] = 201 / 204
    aim = 0.25 * aim + 0.75 * softmax(2 * SCORES)

    def loss(sharpness):
        return -(aim * np.log(softmax(sharpness * SCORES))).sum()

    expected = minimize_scalar(loss, bounds=(1e-3, 10), method="bounded").x
    found = fit_sharpness(SCORES, targets, None, known=2.0, known_rows=150)
    assert found == pytest.approx(expected, rel=1e-3)
    assert fit_sharpness(SCORES, targets, None) < found < 2


def test_one_row_at_a_time_leads_where_all_rows_would():
    scores = RNG.normal(0, 1, (5000, 3))
    targets = (softmax(3 * scores).cumsum(axis=1) < RNG.random((5000, 1))).sum(axis=1)
    found = fit_sharpness(scores[:50], targets[:50], None)
    for row in range(50, 5000):
        one = slice(row, row + 1)
        found = fit_sharpness(scores[one], targets[one], None, known=found, known_rows=row)
    assert found == pytest.approx(fit_sharpness(scores, targets, None), rel=0.05)


def test_scores_that_tell_all_rows_right_have_a_finite_sharpness():
    scores = np.repeat(np.eye(3), 100, axis=0)
    found = fit_sharpness(scores, np.repeat(np.arange(3), 100), None)
    # 301 of 303 for the row's class and 1 of 303 for another: odds of 301
    assert found == pytest.approx(np.log(301), rel=1e-3)


def test_scores_that_say_nothing():
    found = fit_sharpness(np.zeros((10, 2)), np.arange(10) % 2, None)
    assert np.isfinite(found)
    assert found > 0
