"""Progress of runs."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.commands.registry import get_recipe
from benchmarks.runner.progress import RunProgress, one_line
from benchmarks.runner.run import plan_runs


def test_bars_start_where_a_run_was_interrupted_and_never_move_back() -> None:
    listener = RunProgress(3, quiet=True)
    runs = plan_runs([get_recipe("reversal")], seeds=range(3), quick=True)
    result: dict[str, Any] = {}
    for run, n_known in zip(runs, (5, 1, 0), strict=True):  # finished, a fifth finished, new
        listener.on_plan(run, [result] * n_known)
    with listener:
        listener.on_start(runs[1])
        over_all, bar = listener._progress.tasks
        assert (over_all.total, over_all.completed, bar.completed) == (2, 0.2, 0.2)
        listener.on_progress(runs[1], 3, 5)
        listener.on_progress(runs[1], 1, 5)  # it repeats a step
        assert bar.completed == 0.6
        listener.on_finish(runs[1])
        assert [task.description for task in listener._progress.tasks] == ["all runs"]
        assert over_all.completed == 1.0
        listener.on_start(runs[2])
        for _ in range(4):
            listener.on_result(runs[2], result)  # a recipe that reports no progress
        assert over_all.completed == pytest.approx(1.8)
    assert listener.n_added == 4


def test_errors_are_one_line() -> None:
    assert (
        one_line(FileNotFoundError(2, "No such file or directory", "a.csv"))
        == "a.csv: No such file or directory"
    )
    assert one_line(ValueError("two\nlines")) == "two lines"
    assert one_line(MemoryError()) == "MemoryError"
