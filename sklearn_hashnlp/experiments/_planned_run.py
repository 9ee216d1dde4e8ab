"""Runs of recipes that are to be carried out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from sklearn_hashnlp.experiments._recipe import Recipe, Settings
from sklearn_hashnlp.experiments._results_file import run_identity
from sklearn_hashnlp.experiments._settings import change_settings, settings_as_json


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
