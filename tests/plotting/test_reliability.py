"""Reliability diagrams: their bins by hand, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import ReliabilityDisplay

LABELS = np.array(["a", "b", "c", "a"])
PROBABILITIES = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.7, 0.2, 0.1]])


class Model:
    """A classifier with fixed probabilities."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        return PROBABILITIES[: len(X)]


def test_the_error_by_hand():
    display = ReliabilityDisplay.from_estimator(
        Model(), range(4), LABELS, n_bins=2, ax=Figure().subplots()
    )
    assert display.counts.tolist() == [0, 4]
    assert display.accuracies[1] == 0.75
    assert display.mean_confidences[1] == pytest.approx(3.1 / 4)
    assert display.ece == pytest.approx(3.1 / 4 - 0.75)
    assert display.line_.get_xydata() == pytest.approx(np.array([[3.1 / 4, 0.75]]))
    finer = ReliabilityDisplay.from_predictions(
        LABELS, PROBABILITIES, n_bins=10, ax=Figure().subplots()
    )
    assert finer.ece == pytest.approx((0.1 + 0.5 + 0.0 + 0.3) / 4)


def test_several_models_share_axes_and_one_diagonal():
    ax = Figure().subplots()
    for name in ("one", "two"):
        ReliabilityDisplay.from_predictions(LABELS, PROBABILITIES, name=name, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.partition(" (")[0] for text in texts] == ["calibrated", "one", "two"]


@pytest.mark.parametrize("probability", [1.5, -0.5, float("nan")])
def test_values_that_are_not_probabilities_are_refused(probability):
    with pytest.raises(ValueError, match="needs probabilities from 0 to 1, got"):
        ReliabilityDisplay([0.5, probability], [True, False])
    assert ReliabilityDisplay([1 + 2**-23], [True]).counts[-1] == 1  # rounded by float32


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="needs one label and 3 probabilities per sample"):
        ReliabilityDisplay.from_predictions(LABELS, PROBABILITIES[:, :2])
    with pytest.raises(ValueError, match="at least one sample"):
        ReliabilityDisplay([], [])
