"""The plot of accuracy against size, drawn without a screen."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.classifiers.tuning._result import TunedModel, TuningResult
from sklearn_hashnlp.plotting import SizeAccuracyDisplay


def test_models_of_a_search_are_drawn_with_front_limit_and_default():
    models = [
        TunedModel(0, {}, "float32", 0.9, 4_000_000),
        TunedModel(0, {}, "int8", 0.8, 1_000_000),
        TunedModel(1, {"features": "words"}, "float32", 0.7, 900_000),
        TunedModel(1, {"features": "words"}, "int8", 0.85, 300_000),
    ]
    result = TuningResult(None, models, None, max_size=2_000_000)
    display = SizeAccuracyDisplay.from_tuning_result(result, ax=Figure().subplots())
    assert display.line_.get_xdata().tolist() == [300_000, 4_000_000]
    assert display.line_.get_ydata().tolist() == [0.85, 0.9]
    assert len(display.points_.get_offsets()) == 4
    assert (display.reference_.get_xdata()[0], display.reference_.get_ydata()[0]) == (4_000_000, 0.9)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["no smaller model is as good", "default parameters", "limit: 2 MB"]
    display.figure_.canvas.draw()
    assert "1 MB" in [tick.get_text() for tick in display.ax_.get_xticklabels()]


def test_a_score_other_than_accuracy_has_its_name_and_no_percent_sign():
    result = TuningResult(None, [TunedModel(0, {}, "float32", -0.7, 1000)], None)
    axes = [
        SizeAccuracyDisplay.from_tuning_result(result, score_name="log loss", ax=Figure().subplots()).ax_,
        SizeAccuracyDisplay([1000], [0.7]).plot(ax=Figure().subplots()).ax_,
    ]
    for ax in axes:
        ax.figure.canvas.draw()
    assert [ax.get_ylabel() for ax in axes] == ["log loss", "accuracy"]
    assert ["%" in ax.get_yticklabels()[0].get_text() for ax in axes] == [False, True]


def test_the_front_equals_brute_force():
    generator = np.random.default_rng(0)
    for _ in range(30):
        sizes, scores = generator.integers(1, 6, 8), generator.integers(0, 6, 8)
        pairs = list(zip(sizes.tolist(), scores.tolist(), strict=True))
        expected = {
            (size, score)
            for size, score in pairs
            if not any((a <= size and b > score) or (a < size and b == score) for a, b in pairs)
        }
        front = SizeAccuracyDisplay(sizes, scores).front()
        assert {pairs[i] for i in front} == expected
        assert len(front) == len(expected)
        assert (np.diff(sizes[front]) > 0).all()


@pytest.mark.parametrize(
    ("sizes", "scores", "message"),
    [
        ([1, 2], [0.5], "a score for each size"),
        ([], [], "at least one"),
        ([0, 1], [0.5, 0.5], "above 0, got 0.0"),
        ([1, 2], [0.5, float("nan")], "finite scores"),
    ],
)
def test_wrong_values_are_refused(sizes, scores, message):
    with pytest.raises(ValueError, match=message):
        SizeAccuracyDisplay(sizes, scores).plot(ax=Figure().subplots())
