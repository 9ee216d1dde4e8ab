"""Many runs, one after another or in worker processes, which resume where they were interrupted."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.runner.recipe import Result
from benchmarks.runner.results_file import ResultsFile, completed_steps
from benchmarks.runner.run import PlannedRun
from benchmarks.runner.worker import execute, worker_main
from sklearn_hashnlp._posix import usable_cores


class Listener:
    """Callbacks of ``run_all``, to be overridden; these do nothing."""

    def on_plan(self, run: PlannedRun, previous: Sequence[Result]) -> None:
        """Handle a run before the first run starts, with the results already in the file."""

    def on_start(self, run: PlannedRun) -> None:
        """Handle the start of an unfinished run."""

    def on_log(self, run: PlannedRun, line: str) -> None:
        """Handle a line that a run logs."""

    def on_progress(self, run: PlannedRun, done: int, total: int) -> None:
        """Handle the progress of a run."""

    def on_result(self, run: PlannedRun, result: Result) -> None:
        """Handle a new result, which is in the file already."""

    def on_finish(self, run: PlannedRun) -> None:
        """Handle the end of a run."""

    def on_failure(self, run: PlannedRun, error: Exception) -> None:
        """Handle the failure of a run; the others continue."""


class Outcome(NamedTuple):
    """All results of the runs, those from before included, and the errors of failed runs."""

    results: list[Result]
    failures: list[tuple[PlannedRun, Exception]]


def run_all(
    runs: Sequence[PlannedRun],
    *,
    output: str | os.PathLike[str] | None = None,
    processes: int = 1,
    listener: Listener | None = None,
) -> Outcome:
    """Execute runs, and write each result to a file as soon as it is there."""
    if processes < 1:
        raise ValueError(f"run_all: processes must be 1 or more. Got {processes!r} instead.")
    listener = Listener() if listener is None else listener
    with ExitStack() as stack:
        if output is None:
            file, root = None, Path(stack.enter_context(tempfile.TemporaryDirectory()), "parts")
        else:
            file, root = (
                stack.enter_context(ResultsFile(output)),
                Path(f"{os.fspath(output)}.parts"),
            )
        tracker = _RunTracker(runs, file, root, listener)
        if processes == 1:
            _run_in_this_process(tracker)
        else:
            _run_in_workers(tracker, processes)
    results = [result for run in runs for result in tracker.results[run.identity]]
    return Outcome(results, tracker.failures)


class _RunTracker:
    """Tracks the state of all runs, writes their results and calls the listener."""

    def __init__(
        self, runs: Sequence[PlannedRun], file: ResultsFile | None, root: Path, listener: Listener
    ) -> None:
        self.file = file
        self.root = root
        self.listener = listener
        previous = [] if file is None else file.results
        self.results = {
            run.identity: completed_steps(previous, run.identity)[: run.n_results] for run in runs
        }
        self.failures: list[tuple[PlannedRun, Exception]] = []
        self.pending: deque[PlannedRun] = deque()
        for run in runs:
            listener.on_plan(run, self.results[run.identity])
            if len(self.results[run.identity]) < run.n_results:
                self.pending.append(run)
            else:
                self.clean_up(run)

    def start_next(self) -> tuple[PlannedRun, list[Result], Path]:
        """Return the next pending run, its previous results and its folder."""
        run = self.pending.popleft()
        self.listener.on_start(run)
        folder = self.root / run.folder_name
        folder.mkdir(parents=True, exist_ok=True)
        return run, list(self.results[run.identity]), folder

    def handle(self, run: PlannedRun, event: str, value: Any) -> None:
        """Handle an event of a run."""
        match event:
            case "log":
                self.listener.on_log(run, value)
            case "progress":
                self.listener.on_progress(run, *value)
            case "result":
                if self.file is not None:
                    self.file.add(value)
                self.results[run.identity].append(value)
                self.listener.on_result(run, value)
            case "finished":
                self.clean_up(run)
                self.listener.on_finish(run)
            case "failed":
                with suppress(OSError):  # not empty: files to resume from, or folders of other runs
                    (self.root / run.folder_name).rmdir()
                    self.root.rmdir()
                self.failures.append((run, value))
                self.listener.on_failure(run, value)

    def clean_up(self, run: PlannedRun) -> None:
        """Delete the folder of a finished run."""
        shutil.rmtree(self.root / run.folder_name, ignore_errors=True)
        with suppress(OSError):  # not empty, or never created
            self.root.rmdir()


def _run_in_this_process(tracker: _RunTracker) -> None:
    while tracker.pending:
        run, previous, folder = tracker.start_next()
        # A full disk or a closed pipe is not a failure of this run: every other run would fail,
        # too.
        own_errors: list[Exception] = []

        def send(
            event: str, value: Any, run: PlannedRun = run, own_errors: list[Exception] = own_errors
        ) -> None:
            try:
                tracker.handle(run, event, value)
            except Exception as error:
                own_errors.append(error)
                raise

        try:
            execute(run, previous, folder, send)
        except Exception as error:
            if own_errors:
                raise own_errors[0]  # noqa: B904 - it is the error, or the cause of it
            send("failed", error)
        else:
            send("finished", None)


def _run_in_workers(tracker: _RunTracker, processes: int) -> None:
    # A fork would copy locks that other threads hold, but not those threads; a spawned interpreter
    # has neither.
    context = multiprocessing.get_context("spawn")
    n_threads = max(usable_cores() // processes, 1)
    active: dict[Connection, tuple[PlannedRun, SpawnProcess]] = {}
    try:
        while tracker.pending or active:
            while tracker.pending and len(active) < processes:
                run, previous, folder = tracker.start_next()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=worker_main, args=(sender, run, previous, folder, n_threads)
                )
                active[receiver] = (run, process)
                process.start()
                # Only the worker holds this end: the pipe ends when the worker dies.
                sender.close()
            ready = set(wait(list(active)))
            for receiver in [connection for connection in active if connection in ready]:
                run, process = active[receiver]
                if not _receive(tracker, run, receiver, process):
                    del active[receiver]
                    receiver.close()
                    process.join()
    finally:
        for _, process in active.values():
            if process.pid is not None:
                process.kill()  # safe: only this process writes to the results file
                process.join()


def _receive(
    tracker: _RunTracker, run: PlannedRun, connection: Connection, process: SpawnProcess
) -> bool:
    """Handle one event of a worker; return True if more will come."""
    try:
        event, value = connection.recv()
    except (EOFError, OSError):  # OSError: the worker died in the middle of a message
        process.join()
        message = (
            f"The process of the run ended with exit code {process.exitcode} before the run did"
        )
        if process.exitcode == -9:
            message += "; something killed it, perhaps the system because memory was short"
        event, value = "failed", RuntimeError(f"{message}.")
    tracker.handle(run, event, value)
    return event not in ("finished", "failed")
