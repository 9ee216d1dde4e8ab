"""Progress of runs on stderr: a bar for each, a bar for all, and a line per finished run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from benchmarks.runner.recipe import Result
from benchmarks.runner.run import PlannedRun
from benchmarks.runner.run_all import Listener

_SECONDS_OF_ESTIMATE = 86_400  # a step of an experiment may take an hour


class RunProgress(Listener):
    """Show the progress of runs."""

    def __init__(self, n_runs: int, *, quiet: bool) -> None:
        self.n_added = 0
        self._n_runs = n_runs
        self._n_finished = 0
        # The completed fraction of each run that was not finished before
        self._fractions: dict[str, float] = {}
        self._n_results: dict[str, int] = {}
        self._bars: dict[str, TaskID] = {}
        self._total_bar: TaskID | None = None
        self._console = Console(
            stderr=True, quiet=quiet, markup=False, emoji=False, highlight=False, soft_wrap=True
        )
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
            redirect_stdout=False,
            speed_estimate_period=_SECONDS_OF_ESTIMATE,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def on_plan(self, run: PlannedRun, previous: Sequence[Result]) -> None:
        """Print whether a run was finished or interrupted before."""
        if len(previous) >= run.n_results:
            self._n_finished += 1
            self._console.print(f"{run.name}: finished before")
            return
        if previous:
            self._console.print(
                f"{run.name}: resumed after {len(previous)} of {run.n_results} results"
            )
        self._n_results[run.identity] = len(previous)
        self._fractions[run.identity] = len(previous) / run.n_results

    def on_start(self, run: PlannedRun) -> None:
        """Add the bar of a run."""
        if self._total_bar is None and self._n_runs > 1:
            total = float(len(self._fractions))
            self._total_bar = self._progress.add_task("all runs", total=total)
        self._bars[run.identity] = self._progress.add_task(run.name, total=1.0)
        self._update(run, 0.0)

    def on_log(self, run: PlannedRun, line: str) -> None:
        """Print a line of output, after the name of the run if there are several."""
        self._console.print(f"{run.name}: {line}" if self._n_runs > 1 else line)

    def on_progress(self, run: PlannedRun, done: int, total: int) -> None:
        """Update the bars."""
        self._update(run, done / total if total else 0.0)

    def on_result(self, run: PlannedRun, result: Result) -> None:
        """Update the bars, for recipes that do not."""
        self.n_added += 1
        self._n_results[run.identity] += 1
        self._update(run, self._n_results[run.identity] / run.n_results)

    def on_finish(self, run: PlannedRun) -> None:
        """Remove the bar of the run, and print how many are finished."""
        self._n_finished += 1
        self._end(run, "finished")

    def on_failure(self, run: PlannedRun, error: Exception) -> None:
        """Remove the bar of the run; the command prints the error of a single run."""
        self._end(run, f"failed: {one_line(error)}")

    def _update(self, run: PlannedRun, fraction: float) -> None:
        # A resumed run may repeat a step; its bar does not move back.
        self._fractions[run.identity] = fraction = max(fraction, self._fractions[run.identity])
        self._progress.update(self._bars[run.identity], completed=fraction)
        if self._total_bar is not None:
            self._progress.update(self._total_bar, completed=sum(self._fractions.values()))

    def _end(self, run: PlannedRun, outcome: str) -> None:
        self._update(run, 1.0)
        self._progress.remove_task(self._bars.pop(run.identity))
        if self._n_runs > 1:
            self._console.print(
                f"{run.name}: {outcome} ({self._n_finished} of {self._n_runs} runs)"
            )


def one_line(error: Exception) -> str:
    """Format an error as one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
