"""``python -m benchmarks list``: list the experiments, or describe one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from benchmarks.commands.recipes import RecipeOption, own_recipes, recipe_arguments
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
List the experiments, or describe one.

\b
  python -m benchmarks list
  python -m benchmarks list reversal
  python -m benchmarks list --json
  python -m benchmarks list --recipe my_module:MY_RECIPE

The description of an experiment has its source, its running time, and its settings with their values. \
--recipe describes an experiment of your own.
"""


@reporting_errors
def list_experiments(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of an experiment.", show_default=False)
    ] = None,
    recipe: RecipeOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the recipes; the parameters are the options of the command."""
    from benchmarks.runner import RECIPES, get_recipe

    screen = Screen(as_json=as_json, quiet=False)  # the list is no hint
    own = own_recipes(recipe)
    if name is None and len(own) == 1:
        [name] = own
    try:
        if name is None:
            described = [*RECIPES.values(), *own.values()]
        else:
            described = [own[name] if name in own else get_recipe(name)]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if as_json:
        screen.show_json([_describe(one) for one in described])
        return
    if name is not None:
        _show_recipe(screen, described[0], recipe_arguments(recipe) if name in own else f" {name}")
        return
    width = max(len(one.name) for one in described)
    for one in described:
        screen.show(f"{one.name:<{width}}  {one.summary}")
    if not quiet:
        screen.note(f"\nDescribe one: python -m benchmarks list {described[0].name}", style="dim")


def _describe(recipe: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "description": recipe.description,
        "settings": asdict(recipe.settings),
    }


def _show_recipe(screen: Screen, recipe: Any, arguments: str) -> None:
    """Print the description and the settings of a recipe."""
    from dataclasses import fields

    from benchmarks.runner.settings import format_setting

    screen.show(f"{recipe.name}: {recipe.summary}\n", style="bold")
    screen.show(f"{recipe.description}\n")
    table = Table("setting", "value", "description", box=None, pad_edge=False, header_style="dim")
    for field in fields(recipe.settings):
        value = format_setting(getattr(recipe.settings, field.name))
        table.add_row(field.name, value, field.metadata.get("help", ""))
    screen.show(table)
    screen.note(f"\nRun it with: python -m benchmarks run{arguments}", style="dim")
