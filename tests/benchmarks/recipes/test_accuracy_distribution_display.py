"""The plot of accuracies over seeds, drawn without a screen."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.recipes.accuracy_distribution_display import AccuracyDistributionDisplay

ACCURACIES = {
    "improved": ([0.93, 0.94, 0.95, 0.97], [0.91, 0.92, 0.92, 0.90]),
    "paper": ([0.92], [0.93]),
    "standard": ([0.99, 0.97], [0.90, 0.91]),
}


def test_training_and_test_stand_side_by_side() -> None:
    display = AccuracyDistributionDisplay(ACCURACIES).plot(figure=Figure())
    assert [ax.get_title() for ax in display.axes_] == ["training (under n-gram dropout)", "test"]
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == list(ACCURACIES)
    display.figure_.canvas.draw()
    bottom, top = display.axes_[1].get_ylim()
    assert bottom > top, "the first setting is on top"


@pytest.mark.parametrize("half", [0, 1])
def test_each_seed_is_a_point_and_each_setting_a_box(half: int) -> None:
    ax = AccuracyDistributionDisplay(ACCURACIES).plot(figure=Figure()).axes_[half]
    expected = [values[half] for values in ACCURACIES.values()]
    assert [line.get_xdata().tolist() for line in ax.lines] == expected
    for row, line in enumerate(ax.lines):
        heights = np.asarray(line.get_ydata(), dtype=float)
        assert len(set(heights)) == len(heights)
        assert np.abs(heights - row).max() < 0.25
    boxes = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    np.testing.assert_allclose(boxes, [np.quantile(values, (0.25, 0.75)) for values in expected])
    segments = [segment for lines in ax.collections for segment in lines.get_segments()]
    medians = [segment[0, 0] for segment in segments if segment[0, 0] == segment[1, 0] and np.ptp(segment[:, 1]) > 0]
    np.testing.assert_allclose(medians, [np.median(values) for values in expected])
    whiskers = [segment[:, 0].tolist() for segment in segments if np.ptp(segment[:, 1]) == 0]
    np.testing.assert_allclose(
        whiskers, [ends for values in expected for ends in np.quantile(values, [[0, 0.25], [0.75, 1]]).tolist()]
    )


def test_titles_can_be_others() -> None:
    display = AccuracyDistributionDisplay(ACCURACIES, titles=("training", "validation")).plot(figure=Figure())
    assert [ax.get_title() for ax in display.axes_] == ["training", "validation"]


@pytest.mark.parametrize(
    ("accuracies", "message"),
    [
        ({}, "at least one setting, got none"),
        ({"a": ([0.5], [])}, r"at least one of each; got \(\[0\.5\], \[\]\) for 'a'"),
    ],
)
def test_nothing_to_draw_is_refused(accuracies: dict[str, tuple[list[float], list[float]]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AccuracyDistributionDisplay(accuracies).plot(figure=Figure())
