"""The plot of accuracy against typing errors, drawn without a screen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.plotting import RobustnessDisplay
from sklearn_hashnlp.text import distort_texts

TEXTS = [f"text number {number}" for number in range(40)]


class Intact(ClassifierMixin, BaseEstimator):
    """Says whether a text is one of those."""

    def fit(self, X=None, y=None):
        return self

    def predict(self, X):
        return np.array([text in TEXTS for text in X])


def test_a_classifier_is_measured_on_texts_with_errors():
    ax = Figure().subplots()
    display = RobustnessDisplay.from_estimator(
        Intact(), iter(TEXTS), [True] * 40, rates=[0, 0.03, 1], n_repeats=2, random_state=5, ax=ax
    )
    intact = [
        np.mean(Intact().predict(distort_texts(TEXTS, 0.03, random_state=seed))) for seed in (5, 6)
    ]
    assert intact[0] != intact[1]
    assert display.accuracies.tolist() == [[1, 1], intact, [0, 0]]
    assert display.name == "Intact"
    (line,) = ax.lines
    assert line is display.line_
    np.testing.assert_array_equal(line.get_xdata(), [0, 0.03, 1])
    np.testing.assert_allclose(line.get_ydata(), [1, np.mean(intact), 0])
    display.figure_.canvas.draw()
    assert ax.yaxis.get_major_formatter()(0.5) == "50%"


def test_a_frame_of_one_column_is_measured_as_its_texts():
    model = TextClassifier(
        n_buckets=500, n_embeddings=500, embedding_dim=4, max_epochs=2, random_state=0
    )
    texts, labels = ["funny film", "boring film"] * 10, ["good", "bad"] * 10
    model.fit(texts, labels)
    options = {"rates": [0, 0.2], "n_repeats": 1, "ax": Figure().subplots()}
    frame, plain = (
        RobustnessDisplay.from_estimator(model, X, labels, **options)
        for X in (pd.DataFrame({"text": texts}), texts)
    )
    assert frame.accuracies.tolist() == plain.accuracies.tolist()


def test_several_curves_share_axes_and_a_band_shows_the_deviation():
    ax = Figure().subplots()
    RobustnessDisplay([0, 0.1], [[1.0, 1.0], [0.5, 0.7]], name="one").plot(ax=ax)
    display = RobustnessDisplay([0, 0.1], [[0.8], [0.6]], name="other").plot(
        ax=ax, line_kw={"linestyle": ":"}
    )
    assert (display.ax_, display.line_.get_linestyle()) == (ax, ":")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert RobustnessDisplay([0.1], [[0.5]]).plot(ax=Figure().subplots()).ax_.get_legend() is None
    heights = ax.collections[0].get_paths()[0].vertices
    assert heights[heights[:, 0] == 0.1, 1].min() == pytest.approx(0.5)
    assert heights[heights[:, 0] == 0.1, 1].max() == pytest.approx(0.7)


@pytest.mark.parametrize("accuracies", [[0.9, 0.8], [[0.9, 0.8]]])
def test_accuracies_of_another_shape_are_refused(accuracies):
    with pytest.raises(ValueError, match=r"for 2 rates it got an array of shape \("):
        RobustnessDisplay([0, 0.1], accuracies).plot(ax=Figure().subplots())
