"""Tables and plots of results of several recipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.commands.registry import RECIPES
from benchmarks.runner.recipe import Recipe, Result
from benchmarks.runner.results_file import identity_of
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sort_results(
    results: Iterable[Result], recipes: Mapping[str, Recipe] = RECIPES
) -> list[Result]:
    """Sort results of some recipes by recipe, settings, seed and step; keep the last duplicate."""
    unique: dict[Hashable, Result] = {}
    for number, result in enumerate(results):
        # Results of older versions have no step, so that duplicates cannot be recognized.
        unique[(identity_of(result), result["step"]) if "step" in result else number] = result
    order = {name: index for index, name in enumerate(recipes)}
    return sorted(
        (result for result in unique.values() if result["recipe"] in order),
        key=lambda result: (
            order[result["recipe"]],
            json.dumps(result["settings"], sort_keys=True),
            result["seed"],
            result.get("step", 0),
        ),
    )


def make_tables(results: Iterable[Result], recipes: Mapping[str, Recipe] = RECIPES) -> list[Table]:
    """Make the tables of all recipes that have results."""
    groups = _group_by(results, recipes, lambda recipe: recipe.report)
    return [table for recipe, group in groups for table in recipe.report(group)]


def make_plots(
    results: Iterable[Result], recipes: Mapping[str, Recipe] = RECIPES
) -> list[tuple[str, Callable[[Figure], None]]]:
    """Return the name of each plot and a function that draws it into an empty figure."""
    groups = _group_by(results, recipes, lambda recipe: recipe.plot)
    return [
        (recipe.name, partial(recipe.plot, group))
        for recipe, group in groups
        if recipe.plot is not None
    ]


def save_plots(
    folder: Path, results: Iterable[Result], recipes: Mapping[str, Recipe], dpi: int = 150
) -> list[Path]:
    """Draw the plots of all recipes that have results; return their paths."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in make_plots(results, recipes):
        figure = Figure(layout="constrained")
        draw(figure)
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=dpi)
    return paths


def _group_by(
    results: Iterable[Result], recipes: Mapping[str, Recipe], key: Callable[[Recipe], Hashable]
) -> list[tuple[Recipe, list[Result]]]:
    """Group the results by a key of their recipe; each group has its first recipe."""
    groups: dict[Hashable, tuple[Recipe, list[Result]]] = {}
    for result in sort_results(results, recipes):
        recipe = recipes[result["recipe"]]
        groups.setdefault(key(recipe), (recipe, []))[1].append(result)
    return list(groups.values())
