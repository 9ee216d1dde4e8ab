"""The plot of collisions, drawn without a screen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp.plotting import CollisionDisplay

WORDS, EXPECTED = [100, 1000], [5.0, 500.0]


def test_line_points_intervals_and_bound_are_drawn() -> None:
    ax = Figure().subplots()
    intervals = [[2.0, 9.0], [480.0, 530.0]]
    display = CollisionDisplay(
        WORDS, EXPECTED, [4.0, 510.0], intervals, [50, 1000], name="small", quantity="pairs"
    ).plot(ax=ax)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert display.line_.get_ydata().tolist() == EXPECTED
    assert display.points_ is not None
    assert display.points_.get_ydata().tolist() == [4.0, 510.0]
    assert display.bound_ is not None
    assert (display.bound_.get_ydata().tolist(), display.bound_.get_linestyle()) == ([50, 1000], "--")
    (bars,) = ax.collections
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, intervals)
    assert len({line.get_color() for line in (display.line_, display.points_, display.bound_)}) == 1
    assert ax.get_xlabel() == "number of distinct words"
    assert ax.get_ylabel() == "pairs\n(line: expected, points: counted, dashed: upper bound)"
    display.figure_.canvas.draw()


def test_several_share_axes_and_optional_parts_are_left_out() -> None:
    ax = Figure().subplots()
    CollisionDisplay(WORDS, EXPECTED, name="one").plot(ax=ax)
    display = CollisionDisplay(WORDS, [1, 2], name="other").plot(ax=ax, line_kw={"color": "red"})
    assert (display.points_, display.bound_, display.line_.get_color()) == (None, None, "red")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert len(ax.lines) == 2
    assert CollisionDisplay(WORDS, EXPECTED).plot(ax=Figure().subplots()).ax_.get_legend() is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"expected": [1]}, r"needs expected of shape \(2,\), because n_words has 2 values; got shape \(1,\)"),
        ({"counted": [[1, 2]]}, r"needs counted of shape \(2,\)"),
        ({"counted": [1, 2], "intervals": [1, 2]}, r"needs intervals of shape \(2, 2\)"),
        ({"bound": [1, 2, 3]}, r"needs bound of shape \(2,\)"),
        ({"intervals": [[1, 2], [1, 2]]}, "needs counts for its intervals"),
    ],
)
def test_values_of_another_shape_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CollisionDisplay(**{"n_words": WORDS, "expected": EXPECTED} | values).plot(ax=Figure().subplots())


def test_pairs_of_a_report() -> None:
    from sklearn_hashnlp.inspection import collision_report
    from sklearn_hashnlp.text import HashingNgramVectorizer

    report = collision_report(
        ["one two three four five six seven", "eight nine ten"], HashingNgramVectorizer(n_features=5)
    )
    display = CollisionDisplay.from_report(report, kind="column", name="5 columns", ax=Figure().subplots())
    assert display.n_words.tolist() == [2, 5, 10]
    assert display.expected[-1] == pytest.approx(10 * 9 / 2 / 5)
    assert display.counted[-1] == report.rows[0].counted_pairs
    with pytest.raises(ValueError, match="kinds of collisions column"):
        CollisionDisplay.from_report(report)
