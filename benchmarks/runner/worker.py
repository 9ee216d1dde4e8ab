"""A run in a worker process, which sends its events to the parent and ends with it."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from benchmarks.runner.recipe import Result
from benchmarks.runner.run import PlannedRun, run_recipe

# Read by numpy, torch and joblib when a recipe imports them, which is after its process has
# started.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
_SECONDS_BETWEEN_UPDATES = 0.1

Send = Callable[[str, Any], None]


def execute(run: PlannedRun, previous: Sequence[Result], folder: Path, send: Send) -> None:
    """Run a recipe and send its log, with its warnings, its progress and its results."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.showwarning = lambda message, *_others, **_options: send(
            "log", f"Warning: {message}"
        )
        for result in run_recipe(
            run.recipe,
            settings=run.settings,
            seed=run.seed,
            previous=previous,
            folder=folder,
            log=lambda line: send("log", line),
            progress=lambda done, total: send("progress", (done, total)),
        ):
            send("result", result)


def worker_main(
    connection: Connection,
    run: PlannedRun,
    previous: Sequence[Result],
    folder: Path,
    n_threads: int,
) -> None:
    """Execute one run; the target of a worker process."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    # Ctrl-C goes to all processes; the parent kills its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _THREAD_VARIABLES:
        os.environ.setdefault(name, str(n_threads))
    last_update = 0.0

    def send(event: str, value: Any) -> None:
        nonlocal last_update
        if event == "progress":
            if value[0] < value[1] and time.monotonic() - last_update < _SECONDS_BETWEEN_UPDATES:
                return
            last_update = time.monotonic()
        connection.send((event, value))

    try:
        execute(run, previous, folder, send)
    except Exception as error:
        send("failed", _picklable(error))
    else:
        send("finished", None)


def _exit_with_parent() -> None:
    """Exit when the parent has ended: after kill -9 it cannot kill its workers."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _picklable(error: Exception) -> Exception:
    """Return an error that can be sent to the parent, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # some errors can be pickled but not unpickled
    except Exception:
        substitute = RuntimeError(f"{type(error).__name__}: {error}")
        substitute.add_note(error.__notes__[-1])
        return substitute
    return error
