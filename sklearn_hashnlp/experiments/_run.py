"""Run a recipe, planned run by planned run."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn_hashnlp.experiments._recipe import Move, Recipe, Result, Run, Settings, Tell, say_nothing, stay
from sklearn_hashnlp.experiments._results_file import run_identity
from sklearn_hashnlp.experiments._settings import change_settings, settings_as_json


def surroundings(*packages: str) -> dict[str, Any]:
    """Describe the day, the machine and the versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in packages},
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class PlannedRun:
    """A recipe with settings and a seed."""

    recipe: Recipe  # which one
    settings: Settings  # its settings
    seed: int  # of everything random

    @property
    def name(self) -> str:
        """What it is called by on a screen: recipe, data set and seed."""
        dataset = getattr(self.settings, "dataset", "")
        return f"{self.recipe.name}{' on ' if dataset else ''}{dataset}, seed {self.seed}"

    @cached_property
    def identity(self) -> str:
        """What all its results share, and no other result has."""
        return run_identity(self.recipe.name, settings_as_json(self.settings), self.seed)

    @property
    def short_name(self) -> str:
        """A name for its folder: the same for the same run, and another for any other."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]

    @property
    def n_results(self) -> int:
        """How many results it has when it is finished."""
        return self.recipe.n_results(self.settings)


def plan_runs(
    recipes: Iterable[Recipe],
    *,
    datasets: Sequence[str] = (),
    changes: Sequence[str] = (),
    seeds: Iterable[int] = (0,),
    quick: bool = False,
) -> list[PlannedRun]:
    """Combine each recipe with each data set and seed."""
    seeds = list(seeds)
    runs: dict[str, PlannedRun] = {}
    for recipe in recipes:
        if datasets and "dataset" not in {field.name for field in fields(recipe.settings)}:
            raise ValueError(f"The experiment {recipe.name!r} is of one data set alone; leave out --dataset.")
        try:
            changed = change_settings(recipe.quick if quick else recipe.settings, changes)
        except ValueError as error:
            raise ValueError(f"{recipe.name}: {error}") from None
        each = [change_settings(changed, [f"dataset={name}"]) for name in datasets] or [changed]
        for run in (PlannedRun(recipe, settings, seed) for settings in each for seed in seeds):
            runs.setdefault(run.identity, run)
    return list(runs.values())


def run_recipe(
    recipe: Recipe,
    *,
    settings: Settings = None,
    seed: int = 0,
    known: Sequence[Result] = (),
    folder: Path | None = None,
    tell: Tell = say_nothing,
    move: Move = stay,
) -> Iterator[Result]:
    """Run an experiment.

    Parameters
    ----------
    recipe : Recipe
        Which one.
    settings : instance of the recipe's dataclass, default=None
        None are those of the experiment.
    seed : int, default=0
        Of everything random: the same seed gives the same results, times apart.
    known : sequence of dict, default=()
        The first results of an interrupted run of the same settings and seed, in order; only those after them are
        yielded.
    folder : Path, default=None
        For what the run keeps between its steps; it is there, and may hold what the interrupted run has left. None is a
        temporary one.
    tell : callable, default says nothing
        Takes a line about what is going on.
    move : callable, default does nothing
        Takes how much of the whole run is done, and how much there is in all.

    Yields
    ------
    dict
        A result as soon as it is there, with all that says where it comes from: ``recipe``, ``seed``, ``settings``
        (those that say what and not where), ``step`` (its place in the run, from 0), ``date``, ``machine`` and
        ``versions``. JSON can hold it.

    Raises
    ------
    RuntimeError
        If the recipe has not as many results as it says.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe, run_recipe
    >>> recipe = get_recipe("reversal")
    >>> results = list(run_recipe(recipe, settings=recipe.quick))
    >>> results[0]["recipe"], results[0]["part"], results[0]["output"]
    ('reversal', 'fixed strings', 'softmax')
    """
    settings = recipe.settings if settings is None else settings
    source = {"recipe": recipe.name, "seed": seed, "settings": settings_as_json(settings)}
    place = surroundings(*recipe.packages)
    step = len(known)
    with ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        for result in recipe.run(settings, Run(seed=seed, folder=kept, known=known, tell=tell, move=move)):
            yield {**source, "step": step, **result, **place}
            step += 1
    if step != recipe.n_results(settings):
        raise RuntimeError(
            f"The experiment {recipe.name!r} says that a run with these settings has {recipe.n_results(settings)} "
            f"results, and gave {step}."
        )
