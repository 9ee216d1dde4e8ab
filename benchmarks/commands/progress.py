"""Progress of experiments: a bar for each run, a bar for all of them, and a line for each finished run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from rich.progress import Progress, ProgressColumn, Task, TaskID
from rich.text import Text

from benchmarks.runner.recipe import Result
from benchmarks.runner.run import PlannedRun
from benchmarks.runner.run_all import Listener
from sklearn_hashnlp.cli._errors import one_line
from sklearn_hashnlp.cli._screen import Screen


class RemainingTime(ProgressColumn):
    """Remaining time, estimated from the whole elapsed time: a step of an experiment may take an hour."""

    def render(self, task: Task) -> Text:
        """Return the remaining time as hours, minutes and seconds."""
        updated_at = task.fields["updated_at"]
        seconds = remaining_seconds(updated_at, task.fields["resumed"], task.completed, task.total or 0.0)
        if seconds is None:
            return Text("-:--:--", style="progress.remaining")
        since_update = (task.elapsed or 0.0) - updated_at
        return Text(format_seconds(max(seconds - since_update, 0.0)), style="progress.remaining")


class RunProgress(Listener):
    """Show the progress of runs on the screen."""

    def __init__(self, screen: Screen, progress: Progress, n_runs: int) -> None:
        self._screen = screen
        self._progress = progress
        self._n_runs = n_runs
        self._fractions: dict[str, float] = {}  # completed, of each run that was not finished before
        self._resumed = 0.0  # sum of the fractions that were completed before
        self._n_finished = 0
        self._n_results: dict[str, int] = {}
        self._bars: dict[str, TaskID] = {}
        self._total_bar: TaskID | None = None
        self._started = time.monotonic()
        self.n_added = 0

    def on_plan(self, run: PlannedRun, previous: Sequence[Result]) -> None:
        """Print the results of earlier runs."""
        for result in previous:
            if self._screen.as_json:
                self._screen.show_json(result)
        if len(previous) >= run.n_results:
            self._n_finished += 1
            self._screen.note(f"{run.name}: finished before", style="dim")
            return
        if previous:
            self._screen.note(f"{run.name}: resumed after {len(previous)} of {run.n_results} results", style="dim")
        self._n_results[run.identity] = len(previous)
        self._fractions[run.identity] = len(previous) / run.n_results
        self._resumed += len(previous) / run.n_results

    def on_start(self, run: PlannedRun) -> None:
        """Add the bar of a run."""
        if self._total_bar is None and self._n_runs > 1:
            self._total_bar = self._add_bar("all runs", len(self._fractions), self._resumed)
        self._bars[run.identity] = self._add_bar(run.name, 1, self._fractions[run.identity])

    def on_log(self, run: PlannedRun, line: str) -> None:
        """Print a line of output, after the name of the run if there are several."""
        self._screen.note(f"{run.name}: {line}" if self._n_runs > 1 else line)

    def on_progress(self, run: PlannedRun, done: int, total: int) -> None:
        """Update the bars."""
        self._update(run, done / total if total else 0.0)

    def on_result(self, run: PlannedRun, result: Result) -> None:
        """Print a result as JSON; update the bars, for recipes that do not."""
        self.n_added += 1
        if self._screen.as_json:
            self._screen.show_json(result)
        self._n_results[run.identity] += 1
        self._update(run, self._n_results[run.identity] / run.n_results)

    def on_finish(self, run: PlannedRun) -> None:
        """Remove the bar of the run, and print how many are finished."""
        self._n_finished += 1
        self._end(run, "finished")

    def on_failure(self, run: PlannedRun, error: Exception) -> None:
        """Remove the bar of the run; the command prints the error of a single run."""
        self._end(run, f"failed: {one_line(error)}")

    def _add_bar(self, name: str, total: float, resumed: float) -> TaskID:
        fields: dict[str, Any] = {"resumed": resumed, "updated_at": 0.0}
        return self._progress.add_task(name, total=total, completed=resumed, **fields)  # type: ignore[arg-type]  # rich takes floats, too

    def _update(self, run: PlannedRun, fraction: float) -> None:
        # A resumed run may repeat a step; its bar does not move back.
        self._fractions[run.identity] = fraction = max(fraction, self._fractions[run.identity])
        self._set_completed(self._bars[run.identity], fraction)
        if self._total_bar is not None:
            self._set_completed(self._total_bar, sum(self._fractions.values()))

    def _set_completed(self, bar: TaskID, completed: float) -> None:
        task = next(task for task in self._progress.tasks if task.id == bar)
        updated_at = task.elapsed if completed > task.completed else task.fields["updated_at"]
        self._progress.update(bar, completed=completed, updated_at=updated_at)

    def _end(self, run: PlannedRun, outcome: str) -> None:
        self._update(run, 1.0)
        self._progress.remove_task(self._bars.pop(run.identity))
        if self._n_runs == 1:
            return
        elapsed = time.monotonic() - self._started
        seconds = remaining_seconds(elapsed, self._resumed, sum(self._fractions.values()), len(self._fractions))
        remaining = f", about {format_seconds(seconds)} remaining" if seconds else ""
        self._screen.note(f"{run.name}: {outcome} ({self._n_finished} of {self._n_runs} runs{remaining})")


def remaining_seconds(elapsed: float, resumed: float, completed: float, total: float) -> float | None:
    """Estimate the remaining time; ``None`` if nothing was completed since the run was resumed."""
    return elapsed * (total - completed) / (completed - resumed) if completed > resumed else None


def format_seconds(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
