"""Results of any recipes as tables and plots."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from sklearn_hashnlp.experiments._recipe import Recipe, Result
from sklearn_hashnlp.experiments._recipes import RECIPES
from sklearn_hashnlp.experiments._results_file import identity_of
from sklearn_hashnlp.experiments._table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def arrange_results(results: Iterable[Result]) -> list[Result]:
    """Put results into an order that does not depend on that in which they came.

    Parameters
    ----------
    results : iterable of dict
        Results of any recipes, as ``run_recipe`` yields them.

    Returns
    -------
    list of dict
        By recipe as in ``RECIPES``, settings, seed and step; those of recipes that are not known are left out. Where a
        step of a run is there twice, the last counts.

    Examples
    --------
    >>> results = [{"recipe": "reversal", "settings": {}, "seed": 0, "step": step} for step in (1, 0, 1)]
    >>> [result["step"] for result in arrange_results(results)]
    [0, 1]
    """
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
    """Make the tables of all recipes that have results.

    Parameters
    ----------
    results : iterable of dict
        Results of any recipes, as ``run_recipe`` yields them or as they were read back.

    Returns
    -------
    list of Table
        In the order of ``RECIPES``; recipes with the same function for their report are in its tables together.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe, run_recipe
    >>> recipe = get_recipe("reversal")
    >>> [table.title for table in make_tables(run_recipe(recipe, settings=recipe.quick))]
    ['Fixed strings', 'Fresh strings', 'Speed ratio, full softmax / tree']
    """
    groups = _group(results, lambda recipe: recipe.report)
    return [table for recipe, group in groups for table in recipe.report(group)]


def plots_of(results: Iterable[Result]) -> list[tuple[str, Callable[[Figure], None]]]:
    """Give what can be drawn.

    Parameters
    ----------
    results : iterable of dict
        Results of any recipes, as ``run_recipe`` yields them or as they were read back.

    Returns
    -------
    list of (str, callable)
        For each plot the name of its first recipe, and a function that draws into an empty figure of matplotlib.

    Examples
    --------
    >>> plots_of([{"recipe": "reversal", "settings": {}, "seed": 0, "step": 0}])
    []
    """
    groups = _group(results, lambda recipe: recipe.plot)
    return [(recipe.name, partial(recipe.plot, group)) for recipe, group in groups if recipe.plot is not None]


def _group(results: Iterable[Result], by: Callable[[Recipe], Hashable]) -> list[tuple[Recipe, list[Result]]]:
    """Put together the results of recipes that share something, and the first of these recipes."""
    groups: dict[Hashable, tuple[Recipe, list[Result]]] = {}
    for result in arrange_results(results):
        recipe = RECIPES[result["recipe"]]
        groups.setdefault(by(recipe), (recipe, []))[1].append(result)
    return list(groups.values())
