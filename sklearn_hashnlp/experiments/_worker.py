"""A run in a process of its own, which tells its parent what happens and does not outlive it."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._run import PlannedRun, run_recipe

# Read when numpy, numba, torch and joblib are loaded, which a recipe does after its process has started.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
_SECONDS_BETWEEN_MOVES = 0.1

Send = Callable[[str, Any], None]


def carry_out(run: PlannedRun, known: Sequence[Result], folder: Path, send: Send) -> None:
    """Run a recipe, and send all that happens."""
    for result in run_recipe(
        run.recipe,
        settings=run.settings,
        seed=run.seed,
        known=known,
        folder=folder,
        tell=lambda line: send("told", line),
        move=lambda done, total: send("moved", (done, total)),
    ):
        send("found", result)


def work(connection: Connection, run: PlannedRun, known: Sequence[Result], folder: Path, n_threads: int) -> None:
    """Carry out a run; the whole life of a process that was spawned for it."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; the parent ends the others
    for name in _THREADS:
        os.environ.setdefault(name, str(n_threads))
    last_move = 0.0

    def send(what: str, value: Any) -> None:
        nonlocal last_move
        if what == "moved":
            if value[0] < value[1] and time.monotonic() - last_move < _SECONDS_BETWEEN_MOVES:
                return
            last_move = time.monotonic()
        connection.send((what, value))

    try:
        carry_out(run, known, folder, send)
    except Exception as error:
        send("failed", _portable(error))
    else:
        send("finished", None)


def _die_with_parent() -> None:
    """Wait for the end of the parent, which kill -9 gives no chance to end its children."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """Make an error that can be sent and says where it arose."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # some can be written and not be read
    except Exception:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        told.add_note(error.__notes__[-1])
        return told
    return error
