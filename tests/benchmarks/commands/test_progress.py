"""Progress bars and the remaining time of runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rich.progress import Progress

from benchmarks.commands.progress import RemainingTime, RunProgress, format_seconds, remaining_seconds
from benchmarks.runner import get_recipe
from benchmarks.runner.run import plan_runs
from sklearn_hashnlp.cli._screen import Screen


class Clock:
    """A clock set by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Iterator[Progress]:
    with Progress(RemainingTime(), get_time=clock, disable=True) as progress:
        yield progress


def test_the_remaining_time_is_estimated_from_the_whole_elapsed_time(clock: Clock, progress: Progress) -> None:
    listener = RunProgress(Screen(as_json=False, quiet=True), progress, 3)
    runs = plan_runs([get_recipe("reversal")], seeds=range(3), quick=True)
    result: dict[str, Any] = {}
    for run, n_known in zip(runs, (5, 1, 0), strict=True):  # finished, a fifth finished, new
        listener.on_plan(run, [result] * n_known)
    listener.on_start(runs[1])
    over_all, bar = progress.tasks

    def remaining() -> list[str]:
        return [str(RemainingTime().render(task)) for task in (over_all, bar)]

    assert remaining() == ["-:--:--", "-:--:--"]
    assert (over_all.total, over_all.completed, bar.completed) == (2, 0.2, 0.2)
    clock.now += 3600
    listener.on_progress(runs[1], 3, 5)
    assert remaining() == ["3:30:00", "1:00:00"]  # 0.4 per hour; 1.4 and 0.4 remain
    clock.now += 1800
    assert remaining() == ["3:00:00", "0:30:00"]
    clock.now += 7200
    assert remaining() == ["1:00:00", "0:00:00"]
    listener.on_progress(runs[1], 1, 5)  # it repeats a step
    assert bar.completed == 0.6
    listener.on_finish(runs[1])
    assert [task.description for task in progress.tasks] == ["all runs"]
    assert over_all.completed == 1.0
    listener.on_start(runs[2])
    for _ in range(4):
        listener.on_result(runs[2], result)  # a recipe that reports no progress
    assert over_all.completed == pytest.approx(1.8)
    assert listener.n_added == 4


def test_the_remaining_time_is_proportional_to_the_rest() -> None:
    assert remaining_seconds(60, resumed=2, completed=5, total=10) == 100.0
    assert remaining_seconds(60, resumed=2, completed=2, total=10) is None
    assert format_seconds(3725.4) == "1:02:05"
