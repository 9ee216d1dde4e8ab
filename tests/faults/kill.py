"""Kill jobs at random moments, with SIGKILL, and check what they leave; a program that prints
figures as JSON.

    python -m tests.faults.kill --kills 30 --seed 0 FOLDER

Each job runs in a forked process. After each kill every file that can be loaded must be whole; then
the job is run again in the same folder, until it ends by itself, and its result is compared with
that of a run that was never killed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from tests.faults.jobs import JOBS, Job

_MAX_ROUNDS = 8  # kills of one training before it may end


def main() -> None:
    """Kill every job, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="kills of each job")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", nargs="*", help="names of jobs; default: all")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    with Path(os.devnull).open("w") as null, contextlib.redirect_stdout(null):
        figures = [
            kill_job(
                job(),
                options.folder / str(number),
                options.kills,
                random.Random(options.seed + number),
            )
            for number, job in enumerate(JOBS)
            if not options.jobs or job.name in options.jobs
        ]
    print(json.dumps(figures))


def kill_job(job: Job, root: Path, n_kills: int, generator: random.Random) -> dict[str, Any]:
    """Run a job again and again, kill it so many times, and return figures."""
    whole = root / "whole"
    whole.mkdir(parents=True)
    job.prepare(whole)
    expected = job.finish(whole)  # also loads everything once, before the forks
    seconds = min(_seconds(job, root / f"timed-{number}") for number in range(2))
    kills = while_writing = resumed = 0
    while kills < n_kills:
        folder = root / "killed"
        folder.mkdir()
        job.prepare(folder)
        for _ in range(_MAX_ROUNDS if kills < n_kills else 0):
            before = _unfinished(folder)
            if not _run_and_kill(job, folder, generator.uniform(0, seconds)):
                break
            kills += 1
            while_writing += bool(_unfinished(folder) - before)
            job.check(folder)
        assert job.finish(folder) == expected, f"{job.name}: a resumed run has another result"
        job.check(folder)
        resumed += 1
        shutil.rmtree(folder)
    return {
        "job": job.name,
        "kills": kills,
        "while_writing": while_writing,
        "same_results": resumed,
    }


def _unfinished(folder: Path) -> set[Path]:
    """Return the files and folders under temporary names."""
    return {
        path for path in folder.rglob("*") if path.name.startswith(".") or path.name == "unfinished"
    }


def _seconds(job: Job, folder: Path) -> float:
    folder.mkdir()
    job.prepare(folder)
    started = time.monotonic()
    _wait(_fork(job, folder))
    return time.monotonic() - started


def _run_and_kill(job: Job, folder: Path, seconds: float) -> bool:
    """Return whether the job was still running when it was killed."""
    child = _fork(job, folder)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return _wait(child) == -signal.SIGKILL


def _fork(job: Job, folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        job.run(folder)
        code = 0
    finally:
        os._exit(code)


def _wait(child: int) -> int:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"a job failed with exit code {code}"
    return code


if __name__ == "__main__":
    main()
