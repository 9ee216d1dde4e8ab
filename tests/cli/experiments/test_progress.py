"""How long runs still take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rich.progress import Progress

from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.experiments._progress import RunsOnScreen, TimeLeft
from sklearn_hashnlp.experiments import get_recipe
from sklearn_hashnlp.experiments._run import plan_runs


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Iterator[Progress]:
    with Progress(TimeLeft(), get_time=clock, disable=True) as progress:
        yield progress


def test_time_left_goes_by_all_the_time_that_passed(clock: Clock, progress: Progress) -> None:
    shown = RunsOnScreen(Screen(as_json=False, quiet=True), progress, 3)
    runs = plan_runs([get_recipe("reversal")], seeds=range(3), quick=True)
    result: dict[str, Any] = {}
    for run, n_known in zip(runs, (5, 1, 0), strict=True):  # finished, a fifth there, nothing there
        shown.planned(run, [result] * n_known)
    shown.began(runs[1])
    over_all, bar = progress.tasks

    def left() -> list[str]:
        return [str(TimeLeft().render(task)) for task in (over_all, bar)]

    assert left() == ["-:--:--", "-:--:--"]
    assert (over_all.total, over_all.completed, bar.completed) == (2, 0.2, 0.2)
    clock.now += 3600
    shown.moved(runs[1], 3, 5)
    assert left() == ["3:30:00", "1:00:00"]  # 0.4 an hour; 1.4 and 0.4 are left
    clock.now += 1800
    assert left() == ["3:00:00", "0:30:00"]
    clock.now += 7200
    assert left() == ["1:00:00", "0:00:00"]
    shown.moved(runs[1], 1, 5)  # it began anew inside
    assert bar.completed == 0.6
    shown.finished(runs[1])
    assert [task.description for task in progress.tasks] == ["all runs"]
    assert over_all.completed == 1.0
    shown.began(runs[2])
    for _ in range(4):
        shown.found(runs[2], result)  # a recipe that moves no bar
    assert over_all.completed == pytest.approx(1.8)
    assert shown.n_added == 4
