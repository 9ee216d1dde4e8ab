"""A recipe run, and its results as lines that stand for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sklearn_hashnlp.experiments._recipe import Move, Recipe, Result, Tell
from sklearn_hashnlp.experiments._surroundings import surroundings


def run_recipe(
    recipe: Recipe, *, settings: Any = None, seed: int = 0, tell: Tell | None = None, move: Move | None = None
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
    tell : callable, default=None
        Takes a line about what is going on.
    move : callable, default=None
        Takes what is done and what there is in all.

    Yields
    ------
    dict
        A result as soon as it is there, with all that says where it comes from: ``recipe``, ``seed``, ``settings``,
        ``date``, ``machine`` and ``versions``. JSON can hold it.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe, run_recipe
    >>> recipe = get_recipe("reversal")
    >>> results = list(run_recipe(recipe, settings=recipe.quick))
    >>> results[0]["recipe"], results[0]["part"], results[0]["output"]
    ('reversal', 'fixed strings', 'softmax')
    """
    settings = recipe.settings if settings is None else settings
    place = surroundings(*recipe.packages)
    results = recipe.run(settings, seed, tell or _say_nothing, move or _stay)
    for result in results:
        yield {"recipe": recipe.name, "seed": seed, "settings": asdict(settings), **result, **place}


def _say_nothing(_line: str) -> None:
    pass


def _stay(_done: int, _total: int) -> None:
    pass
