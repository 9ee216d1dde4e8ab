"""Runs of recipes: planned, run, and described by their environment."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.runner.mean_table import PROVENANCE
from benchmarks.runner.recipe import (
    Log,
    Progress,
    Recipe,
    Result,
    Run,
    Settings,
    no_log,
    no_progress,
)
from benchmarks.runner.results_file import run_identity
from benchmarks.runner.settings import change_settings, settings_as_json


def environment(*packages: str) -> dict[str, Any]:
    """Return the date, commit, machine, and versions of Python and of installed packages."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit_of(Path(__file__).parents[2]),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in packages},
    }


def commit_of(checkout: Path) -> str | None:
    """Return a git checkout's commit and UTC time, marked if the package differs, or None."""
    if not (checkout / ".git").exists():  # an installed package has a version
        return None
    try:
        commit = _git(
            checkout, "log", "-1", "--format=%h of %cd", "--date=format-local:%Y-%m-%d %H:%M"
        )
        changed = _git(checkout, "status", "--porcelain", "--", "sklearn_hashnlp")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}, changed" if changed else commit


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    done = subprocess.run(
        command, env=os.environ | {"TZ": "UTC"}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class PlannedRun:
    """A recipe with settings and a seed."""

    recipe: Recipe
    settings: Settings
    seed: int

    @property
    def name(self) -> str:
        """Name of the run on the screen: recipe, dataset and seed."""
        dataset = getattr(self.settings, "dataset", "")
        return f"{self.recipe.name}{' on ' if dataset else ''}{dataset}, seed {self.seed}"

    @cached_property
    def identity(self) -> str:
        """String that all results of the run share, and no other result."""
        return run_identity(self.recipe.name, settings_as_json(self.settings), self.seed)

    @property
    def folder_name(self) -> str:
        """Name of the folder of the run: a hash of its identity."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]

    @property
    def n_results(self) -> int:
        """Number of results of the finished run."""
        return self.recipe.n_results(self.settings)


def plan_runs(
    recipes: Iterable[Recipe],
    *,
    datasets: Sequence[str] = (),
    changes: Sequence[str] = (),
    seeds: Iterable[int] = (0,),
    quick: bool = False,
) -> list[PlannedRun]:
    """Return a run of each recipe with each dataset and seed, without duplicates."""
    seeds = list(seeds)
    runs: dict[str, PlannedRun] = {}
    for recipe in recipes:
        if datasets and "dataset" not in {field.name for field in fields(recipe.settings)}:
            raise ValueError(
                f"The experiment {recipe.name!r} has one dataset only; leave out --data."
            )
        try:
            changed = change_settings(recipe.quick if quick else recipe.settings, changes)
        except ValueError as error:
            raise ValueError(f"{recipe.name}: {error}") from None
        per_dataset = [change_settings(changed, [f"dataset={name}"]) for name in datasets] or [
            changed
        ]
        for run in (
            PlannedRun(recipe, settings, seed) for settings in per_dataset for seed in seeds
        ):
            runs.setdefault(run.identity, run)
    return list(runs.values())


def run_recipe(
    recipe: Recipe,
    *,
    settings: Settings = None,
    seed: int = 0,
    previous: Sequence[Result] = (),
    folder: Path | None = None,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> Iterator[Result]:
    """Run an experiment, by default with its own settings and a temporary folder.

    Yields each result as soon as it is there, with its provenance: ``recipe``, ``seed``,
    ``settings`` (without folders and devices), ``step`` (index within the run), ``date``,
    ``commit`` (of a git checkout, else None), ``machine`` and ``versions``. Of an interrupted run,
    ``previous`` are its first results, and ``folder`` has its files.

    Examples
    --------
    >>> from benchmarks.commands.registry import get_recipe
    >>> from benchmarks.runner import run_recipe
    >>> recipe = get_recipe("reversal")
    >>> results = list(run_recipe(recipe, settings=recipe.quick))
    >>> results[0]["recipe"], results[0]["part"], results[0]["output"]
    ('reversal', 'fixed strings', 'softmax')
    """
    settings = recipe.settings if settings is None else settings
    provenance = {"recipe": recipe.name, "seed": seed, "settings": settings_as_json(settings)}
    run_environment = environment(*recipe.packages)
    step = len(previous)
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = Run(seed=seed, folder=folder, previous=previous, log=log, progress=progress)
        for result in _results(recipe, settings, run):
            yield {**provenance, "step": step, **result, **run_environment}
            step += 1
    if step != recipe.n_results(settings):
        raise RuntimeError(
            f"The experiment {recipe.name!r} declares {recipe.n_results(settings)} results for "
            f"these settings, but yielded {step}: its n_results and run must agree, and run must "
            "not yield results of Run.previous."
        )


def _results(recipe: Recipe, settings: Settings, run: Run) -> Iterator[Result]:
    """Run a recipe and check each of its results."""
    owner = f"The experiment {recipe.name!r}"
    results = recipe.run(settings, run)
    if not isinstance(results, Iterable):
        raise TypeError(f"{owner}: run must yield results, it returned {results!r}.")
    for result in results:
        if not isinstance(result, dict):
            raise TypeError(f"{owner}: run must yield dicts, it yielded {result!r}.")
        if taken := sorted(set(PROVENANCE) & set(result)):
            raise ValueError(
                f"{owner}: results have the keys {', '.join(taken)} already; choose other keys."
            )
        for key, value in result.items():
            try:
                json.dumps({key: value})
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"{owner}: JSON cannot hold the result {key!r}, which is "
                    f"{type(value).__name__}; convert it to float, int, str, a list or a dict."
                ) from error
        yield result
