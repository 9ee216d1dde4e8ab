"""Many runs, in several processes, that go on where they were interrupted."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._results_file import ResultsFile, first_steps
from sklearn_hashnlp.experiments._run import PlannedRun
from sklearn_hashnlp.experiments._worker import carry_out, work


class Listener:
    """Is told what happens while runs are carried out; to be derived from. This one does nothing."""

    def planned(self, run: PlannedRun, known: Sequence[Result]) -> None:
        """Hear of a run before any of them starts, and of the results that it has from before."""

    def began(self, run: PlannedRun) -> None:
        """Hear that an unfinished run starts."""

    def told(self, run: PlannedRun, line: str) -> None:
        """Hear what a run says."""

    def moved(self, run: PlannedRun, done: int, total: int) -> None:
        """Hear how much of a run is done."""

    def found(self, run: PlannedRun, result: Result) -> None:
        """Hear of a new result, which the file holds by now."""

    def finished(self, run: PlannedRun) -> None:
        """Hear that a run has come to its end."""

    def failed(self, run: PlannedRun, error: Exception) -> None:
        """Hear that a run has come to no good end; the others go on."""


class Outcome(NamedTuple):
    """What came of runs: their results, those from before among them, and the errors of those that failed."""

    results: list[Result]
    failures: list[tuple[PlannedRun, Exception]]


def run_all(
    runs: Sequence[PlannedRun],
    *,
    output: str | os.PathLike[str] | None = None,
    processes: int = 1,
    listener: Listener | None = None,
) -> Outcome:
    """Carry out runs, and keep every result as soon as it is there."""
    if processes < 1:
        raise ValueError(f"run_all: processes must be 1 or more. Got {processes!r} instead.")
    listener = Listener() if listener is None else listener
    with ExitStack() as stack:
        if output is None:
            file, root = None, Path(stack.enter_context(tempfile.TemporaryDirectory()), "parts")
        else:
            file, root = stack.enter_context(ResultsFile(output)), Path(f"{os.fspath(output)}.parts")
        progress = _Progress(runs, file, root, listener)
        if processes == 1:
            _run_here(progress)
        else:
            _run_in_processes(progress, processes)
    results = [result for run in runs for result in progress.results[run.identity]]
    return Outcome(results, progress.failures)


class _Progress:
    """What is known of all runs: passes on what happens, and keeps what must be kept."""

    def __init__(self, runs: Sequence[PlannedRun], file: ResultsFile | None, root: Path, listener: Listener) -> None:
        self.file = file
        self.root = root
        self.listener = listener
        before = [] if file is None else file.results
        self.results = {run.identity: first_steps(before, run.identity)[: run.n_results] for run in runs}
        self.failures: list[tuple[PlannedRun, Exception]] = []
        self.waiting: deque[PlannedRun] = deque()
        for run in runs:
            listener.planned(run, self.results[run.identity])
            if len(self.results[run.identity]) < run.n_results:
                self.waiting.append(run)
            else:
                self.clean_up(run)

    def begin(self) -> tuple[PlannedRun, list[Result], Path]:
        """Take the next run, and make its folder."""
        run = self.waiting.popleft()
        self.listener.began(run)
        folder = self.root / run.short_name
        folder.mkdir(parents=True, exist_ok=True)
        return run, list(self.results[run.identity]), folder

    def handle(self, run: PlannedRun, what: str, value: Any) -> None:
        """Take in what a run sends."""
        match what:
            case "told":
                self.listener.told(run, value)
            case "moved":
                self.listener.moved(run, *value)
            case "found":
                if self.file is not None:
                    self.file.add(value)
                self.results[run.identity].append(value)
                self.listener.found(run, value)
            case "finished":
                self.clean_up(run)
                self.listener.finished(run)
            case "failed":
                with suppress(OSError):  # it has kept something to go on with, or others have
                    (self.root / run.short_name).rmdir()
                    self.root.rmdir()
                self.failures.append((run, value))
                self.listener.failed(run, value)

    def clean_up(self, run: PlannedRun) -> None:
        """Remove what a finished run has kept."""
        shutil.rmtree(self.root / run.short_name, ignore_errors=True)
        with suppress(OSError):  # others still keep something, or nobody ever did
            self.root.rmdir()


def _run_here(progress: _Progress) -> None:
    with _heeding_interrupts() as check:
        while progress.waiting:
            run, known, folder = progress.begin()
            ours: list[Exception] = []  # a full disk or a closed pipe is no failure of the run: all would meet it

            def send(what: str, value: Any, run: PlannedRun = run, ours: list[Exception] = ours) -> None:
                check()
                try:
                    progress.handle(run, what, value)
                except Exception as error:
                    ours.append(error)
                    raise

            try:
                carry_out(run, known, folder, send)
            except Exception as error:
                if ours:
                    raise ours[0]  # noqa: B904 - it is the error, or the cause of it
                send("failed", error)
            else:
                send("finished", None)


@contextmanager
def _heeding_interrupts() -> Iterator[Callable[[], None]]:
    """Return a function that raises ``KeyboardInterrupt`` once Ctrl-C was pressed, whatever was made of it."""
    interrupted = False

    def check() -> None:
        if interrupted:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # only the main thread gets signals
        return

    def notice(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, notice)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, previous)


def _run_in_processes(progress: _Progress, processes: int) -> None:
    # A fork would copy threads' locks but not the threads; a fresh interpreter has neither.
    context = multiprocessing.get_context("spawn")
    n_threads = max(_n_cores() // processes, 1)
    active: dict[Connection, tuple[PlannedRun, SpawnProcess]] = {}
    try:
        while progress.waiting or active:
            while progress.waiting and len(active) < processes:
                run, known, folder = progress.begin()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=work, args=(sender, run, known, folder, n_threads))
                active[receiver] = (run, process)
                process.start()
                sender.close()  # so that the worker's end is the only one, and its death is the end of the pipe
            ready = set(wait(list(active)))
            for receiver in [connection for connection in active if connection in ready]:
                run, process = active[receiver]
                if not _receive(progress, run, receiver, process):
                    del active[receiver]
                    receiver.close()
                    process.join()
    finally:
        for _, process in active.values():
            if process.pid is not None:
                process.kill()  # it keeps nothing that could not be torn: the file is this process's
                process.join()


def _receive(progress: _Progress, run: PlannedRun, connection: Connection, process: SpawnProcess) -> bool:
    """Take in what a worker has sent, and tell whether more will come."""
    try:
        what, value = connection.recv()
    except (EOFError, OSError):  # the second one where it died within a message
        process.join()
        message = f"The process of the run ended with exit code {process.exitcode} before the run did"
        if process.exitcode == -9:
            message += "; something killed it, which a system does that is short of memory"
        what, value = "failed", RuntimeError(f"{message}.")
    progress.handle(run, what, value)
    return what not in ("finished", "failed")


def _n_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
