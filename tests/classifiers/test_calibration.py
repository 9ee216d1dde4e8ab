"""Temperatures: found by maximum likelihood, on rows that are held out and trained on afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax as scipy_softmax

from sklearn_hashnlp.classifiers import _temperature

RNG = np.random.default_rng(0)
OTHER_SCORES = RNG.normal(0, 2, (50, 4))


def fit_inverse_temperature(scores, targets, weights, **options):
    """Fit with the targets smoothed by a row per class."""
    return _temperature.fit_inverse_temperature(scores, targets, weights, **{"n_uniform": scores.shape[1]} | options)


def softmax(scores):
    return scipy_softmax(scores, axis=1)


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


def test_weights_that_are_all_zero_are_none():
    targets = RNG.integers(0, 4, 50)
    assert fit_inverse_temperature(OTHER_SCORES, targets, np.zeros(50, dtype=np.float32)) == fit_inverse_temperature(
        OTHER_SCORES, targets, None
    )


def test_the_previous_temperature_is_weighted_by_its_rows():
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


def test_fitting_row_by_row_converges_to_the_fit_of_all_rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (2000, 3))
    targets = (softmax(3 * scores).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    found = fit_inverse_temperature(scores[:50], targets[:50], None)
    for row in range(50, 2000):
        one = slice(row, row + 1)
        found = fit_inverse_temperature(scores[one], targets[one], None, known=found, known_rows=row)
    assert found == pytest.approx(fit_inverse_temperature(scores, targets, None), rel=0.05)


def test_scores_that_tell_all_rows_right_have_a_finite_inverse_temperature():
    scores = np.repeat(np.eye(3), 100, axis=0)
    found = fit_inverse_temperature(scores, np.repeat(np.arange(3), 100), None)
    # 301 of 303 for the row's class and 1 of 303 for another: odds of 301
    assert found == pytest.approx(np.log(301), rel=1e-3)
