"""The option ``--recipe`` of the commands: recipes of the user's own modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from benchmarks.runner import Recipe

RecipeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--recipe",
        metavar="MODULE:NAME",
        help="Add an experiment of your own: a Recipe in a Python module, in the current folder for example; can be "
        "repeated. The module is executed.",
        show_default=False,
    ),
]


def own_recipes(references: Sequence[str] | None) -> dict[str, Recipe]:
    """Import the recipes that the option names."""
    from benchmarks.runner import RECIPES, load_recipe

    recipes: dict[str, Recipe] = {}
    for reference in references or ():
        try:
            recipe = load_recipe(reference)
        except (ValueError, TypeError) as error:
            raise typer.BadParameter(f"--recipe: {error}") from error
        if recipe.name in RECIPES or recipes.get(recipe.name, recipe) != recipe:
            raise typer.BadParameter(
                f"--recipe: there is another experiment {recipe.name!r}; give the recipe of {reference} another name."
            )
        recipes[recipe.name] = recipe
    return recipes


def recipe_arguments(references: Sequence[str] | None) -> str:
    """Return the options that name the same recipes to another command."""
    return "".join(f" --recipe {reference}" for reference in references or ())
