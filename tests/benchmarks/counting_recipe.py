"""A recipe that takes milliseconds.

Tests add its folder to sys.path, so that worker processes can import it.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.runner import Recipe, Run, Table


@dataclass(frozen=True)
class Counting:
    """Settings of the recipe."""

    size: int = field(default=4, metadata={"help": "results of a run"})
    dataset: str = field(default="ag", metadata={"help": "some name"})
    fails: tuple[int, ...] = field(
        default=(),
        metadata={"help": "seeds whose runs fail at their third result", "recorded": False},
    )
    dies: tuple[int, ...] = field(
        default=(), metadata={"help": "seeds whose process ends there", "recorded": False}
    )
    warns: bool = field(default=False, metadata={"help": "whether runs warn", "recorded": False})
    seconds: float = field(default=0.0, metadata={"help": "time a result takes", "recorded": False})
    here: str = field(
        default="", metadata={"help": "folder for heartbeat files", "recorded": False}
    )


def count(settings: Counting, run: Run) -> Iterator[dict[str, Any]]:
    """Yield numbers, each computed from the previous one, which is saved in the run's folder."""
    saved = run.folder / "value"
    value = int(saved.read_text()) if run.previous else run.seed + len(settings.dataset)
    assert not run.previous or value == run.previous[-1]["value"]
    if settings.warns:
        warnings.warn(f"Seed {run.seed} counts slowly.", UserWarning, stacklevel=2)
    for step in range(len(run.previous), settings.size):
        if step == 2 and run.seed in settings.fails:
            raise ValueError(f"seed {run.seed} is not wanted")
        if step == 2 and run.seed in settings.dies:
            os._exit(7)
        started = time.perf_counter()
        work(settings, run.seed)
        value = value * 31 % 1009
        saved.write_text(str(value))
        run.log(f"counted to {step + 1}")
        run.progress(step + 1, settings.size)
        yield {
            "value": value,
            "seconds": time.perf_counter() - started,
            "threads": os.environ.get("OMP_NUM_THREADS"),
            "process": os.getpid(),
        }


def work(settings: Counting, seed: int) -> None:
    """Take time, and write to a file meanwhile."""
    until = time.monotonic() + settings.seconds
    while settings.here and time.monotonic() < until:
        with Path(settings.here, f"heartbeat-{seed}").open("a") as file:
            file.write(".")
        time.sleep(0.01)


def size(settings: Counting) -> int:
    """Return the number of results."""
    return settings.size


def report(results: Sequence[dict[str, Any]]) -> list[Table]:
    """List all values."""
    rows = [
        [result["settings"]["dataset"], str(result["seed"]), str(result["value"])]
        for result in results
    ]
    return [Table("Numbers", ["data", "seed", "value"], rows)] if rows else []


def plot(results: Sequence[dict[str, Any]], figure: Any) -> None:
    """Draw all values."""
    figure.subplots().plot([result["value"] for result in results])


COUNTING = Recipe(
    name="counting",
    summary="Numbers",
    description="Numbers, each computed from the previous one.",
    settings=Counting(),
    quick=Counting(size=2),
    run=count,
    n_results=size,
    report=report,
    plot=plot,
    packages=("numpy",),
)
