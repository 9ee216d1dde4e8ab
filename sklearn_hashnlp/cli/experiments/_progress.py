"""How far the runs of experiments are: a bar for each that runs, one over all, and a line for each that ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from rich.progress import Progress, ProgressColumn, Task, TaskID
from rich.text import Text

from sklearn_hashnlp.cli._errors import one_line
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._run import PlannedRun
from sklearn_hashnlp.experiments._run_all import Listener


class TimeLeft(ProgressColumn):
    """The time left, by all the time that a task has taken: a step of an experiment may take an hour."""

    def render(self, task: Task) -> Text:
        """Write hours, minutes and seconds."""
        moved_at = task.fields["at"]
        left = seconds_left(moved_at, task.fields["before"], task.completed, task.total or 0.0)
        if left is None:
            return Text("-:--:--", style="progress.remaining")
        return Text(duration(max(left - ((task.elapsed or 0.0) - moved_at), 0.0)), style="progress.remaining")


class RunsOnScreen(Listener):
    """Show runs as they are carried out."""

    def __init__(self, screen: Screen, progress: Progress, n_runs: int) -> None:
        self._screen = screen
        self._progress = progress
        self._n_runs = n_runs
        self._shares: dict[str, float] = {}  # of each run that is not finished from before
        self._before = 0.0  # sum of the shares that are there from before
        self._n_finished = 0
        self._n_known: dict[str, int] = {}
        self._bars: dict[str, TaskID] = {}
        self._all: TaskID | None = None
        self._started = time.monotonic()
        self.n_added = 0

    def planned(self, run: PlannedRun, known: Sequence[Result]) -> None:
        """Say what is there already."""
        for result in known:
            if self._screen.as_json:
                self._screen.put_json(result)
        if len(known) >= run.n_results:
            self._n_finished += 1
            self._screen.note(f"{run.name}: finished before", style="dim")
            return
        if known:
            self._screen.note(f"{run.name}: goes on after {len(known)} of {run.n_results} results", style="dim")
        self._n_known[run.identity] = len(known)
        self._shares[run.identity] = len(known) / run.n_results
        self._before += len(known) / run.n_results

    def began(self, run: PlannedRun) -> None:
        """Show the run's bar."""
        if self._all is None and self._n_runs > 1:
            self._all = self._add("all runs", len(self._shares), self._before)
        self._bars[run.identity] = self._add(run.name, 1, self._shares[run.identity])

    def told(self, run: PlannedRun, line: str) -> None:
        """Print the line, after the run's name if there are several."""
        self._screen.note(f"{run.name}: {line}" if self._n_runs > 1 else line)

    def moved(self, run: PlannedRun, done: int, total: int) -> None:
        """Move the bars."""
        self._move(run, done / total if total else 0.0)

    def found(self, run: PlannedRun, result: Result) -> None:
        """Print JSON, and move the bars of a recipe that does not."""
        self.n_added += 1
        if self._screen.as_json:
            self._screen.put_json(result)
        self._n_known[run.identity] += 1
        self._move(run, self._n_known[run.identity] / run.n_results)

    def finished(self, run: PlannedRun) -> None:
        """Take the run's bar away, and say how far all of it is."""
        self._n_finished += 1
        self._end(run, "finished")

    def failed(self, run: PlannedRun, error: Exception) -> None:
        """Take the run's bar away; a single run's error is told by the command."""
        self._end(run, f"failed: {one_line(error)}")

    def _add(self, name: str, total: float, before: float) -> TaskID:
        fields: dict[str, Any] = {"before": before, "at": 0.0}
        return self._progress.add_task(name, total=total, completed=before, **fields)  # type: ignore[arg-type]  # rich takes parts, and says int

    def _move(self, run: PlannedRun, share: float) -> None:
        # A run that goes on may begin anew inside; its bar waits where it was.
        self._shares[run.identity] = share = max(share, self._shares[run.identity])
        self._set(self._bars[run.identity], share)
        if self._all is not None:
            self._set(self._all, sum(self._shares.values()))

    def _set(self, bar: TaskID, share: float) -> None:
        task = next(task for task in self._progress.tasks if task.id == bar)
        at = task.elapsed if share > task.completed else task.fields["at"]
        self._progress.update(bar, completed=share, at=at)

    def _end(self, run: PlannedRun, how: str) -> None:
        self._move(run, 1.0)
        self._progress.remove_task(self._bars.pop(run.identity))
        if self._n_runs == 1:
            return
        elapsed = time.monotonic() - self._started
        left = seconds_left(elapsed, self._before, sum(self._shares.values()), len(self._shares))
        time_left = f", about {duration(left)} left" if left else ""
        self._screen.note(f"{run.name}: {how} ({self._n_finished} of {self._n_runs} runs{time_left})")


def seconds_left(elapsed: float, before: float, done: float, total: float) -> float | None:
    """Estimate how long the rest takes."""
    return elapsed * (total - done) / (done - before) if done > before else None


def duration(seconds: float) -> str:
    """Write a time as hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
