"""Results of any recipes as tables and plots."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from sklearn_hashnlp.experiments._recipe import Recipe, Result
from sklearn_hashnlp.experiments._registry import RECIPES
from sklearn_hashnlp.experiments._results_file import identity_of
from sklearn_hashnlp.experiments._table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def arrange_results(results: Iterable[Result]) -> list[Result]:
    """Put results into an order that does not depend on that in which they came."""
    steps: dict[Hashable, Result] = {}
    for number, result in enumerate(results):
        # Without a step, as older versions wrote them, nothing tells that two are the same.
        steps[(identity_of(result), result["step"]) if "step" in result else number] = result
    order = {name: place for place, name in enumerate(RECIPES)}
    return sorted(
        (result for result in steps.values() if result["recipe"] in order),
        key=lambda result: (
            order[result["recipe"]],
            json.dumps(result["settings"], sort_keys=True),
            result["seed"],
            result.get("step", 0),
        ),
    )


def make_tables(results: Iterable[Result]) -> list[Table]:
    """Make the tables of all recipes that have results."""
    groups = _group(results, lambda recipe: recipe.report)
    return [table for recipe, group in groups for table in recipe.report(group)]


def plots_of(results: Iterable[Result]) -> list[tuple[str, Callable[[Figure], None]]]:
    """Return what can be drawn."""
    groups = _group(results, lambda recipe: recipe.plot)
    return [(recipe.name, partial(recipe.plot, group)) for recipe, group in groups if recipe.plot is not None]


def _group(results: Iterable[Result], by: Callable[[Recipe], Hashable]) -> list[tuple[Recipe, list[Result]]]:
    """Put together the results of recipes that share something, and the first of these recipes."""
    groups: dict[Hashable, tuple[Recipe, list[Result]]] = {}
    for result in arrange_results(results):
        recipe = RECIPES[result["recipe"]]
        groups.setdefault(by(recipe), (recipe, []))[1].append(result)
    return list(groups.values())
