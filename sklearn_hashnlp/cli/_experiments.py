"""``hashnlp experiments``: published experiments, repeated by one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen, bar, command_name

HELP = """\
Repeat published experiments with this package, and get their tables with your machine's numbers.

\b
  hashnlp experiments list              which there are
  hashnlp experiments list reversal     what one does, and what can be changed
  hashnlp experiments run reversal      run it
"""

LIST_HELP = """\
List the experiments, or tell all about one.

\b
  hashnlp experiments list
  hashnlp experiments list reversal
  hashnlp experiments list --json

For one experiment it prints what it does, after whom, how long it takes, and its settings with their values.
"""

RUN_HELP = """\
Run an experiment, and print its table.

\b
  hashnlp experiments run reversal --quick
  hashnlp experiments run reversal --output reversal.jsonl
  hashnlp experiments run reversal --seed 1 --set batch_size=1

The first is a trial of seconds that proves nothing; the second adds each result to a file, too; the third has \
another seed and setting.

Results are JSON lines: each says the experiment, seed, settings, day, machine and versions it comes from, and is \
written as soon as it is there, so that what was finished before an interruption is kept. A file that exists is added \
to, so several runs can share one. The same seed and settings give the same results, times apart.
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the experiment.", show_default=False)]
_Quick = Annotated[bool, typer.Option("--quick", help="Tiny sizes: to see that it works.")]
_Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same results, times apart.")]
_Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Change a setting; may be given several times.", show_default=False
    ),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="JSON lines are added to this file.", show_default=False),
]


@app.command("list", help=LIST_HELP)
@reporting_errors
def list_experiments(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them.", show_default=False)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the recipes; the parameters are the command's options."""
    from sklearn_hashnlp.experiments import RECIPES, get_recipe

    screen = Screen(as_json=as_json, quiet=False)  # what was asked for is no hint
    recipes = list(RECIPES.values()) if name is None else [get_recipe(name)]
    if as_json:
        screen.put_json([_describe(recipe) for recipe in recipes])
        return
    if name is not None:
        _show_recipe(screen, recipes[0])
        return
    for recipe in recipes:
        screen.show(f"{recipe.name}  {recipe.summary}")
    if not quiet:
        screen.note(f"\nMore about one: {command_name()} experiments list {recipes[0].name}", style="dim")


def _describe(recipe: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "description": recipe.description,
        "settings": asdict(recipe.settings),
    }


def _show_recipe(screen: Screen, recipe: Any) -> None:
    """Print what a recipe does, and its settings."""
    from dataclasses import fields

    screen.show(f"{recipe.name}: {recipe.summary}\n", style="bold")
    screen.show(f"{recipe.description}\n")
    table = Table("setting", "value", "what it is", box=None, pad_edge=False, header_style="dim")
    for field in fields(recipe.settings):
        value = getattr(recipe.settings, field.name)
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        table.add_row(field.name, text, field.metadata.get("help", ""))
    screen.show(table)
    screen.note(f"\nRun it: {command_name()} experiments run {recipe.name}", style="dim")


@app.command("run", help=RUN_HELP)
@reporting_errors
def run_experiment(
    name: _Name,
    quick: _Quick = False,
    seed: _Seed = 0,
    changes: _Changes = None,
    output: _Output = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a recipe; the parameters are the command's options."""
    from sklearn_hashnlp.experiments import get_recipe, run_recipe
    from sklearn_hashnlp.experiments._settings import change_settings
    from sklearn_hashnlp.experiments._table import as_text

    screen = Screen(as_json=as_json, quiet=quiet)
    recipe = get_recipe(name)
    settings = change_settings(recipe.quick if quick else recipe.settings, changes or ())
    if output is not None:
        output.open("a", encoding="utf-8").close()  # a wrong path shows now and not after hours
    results = []
    with screen.progress() as progress:
        move = bar(progress, recipe.name)
        for result in run_recipe(recipe, settings=settings, seed=seed, tell=screen.note, move=move):
            results.append(result)
            if as_json:
                screen.put_json(result)
            if output is not None:
                with output.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(result)}\n")
    for table in recipe.report(results):
        screen.show("")
        for line in as_text(table):
            screen.show(line)
    if output is not None:
        screen.note(f"\nAdded {len(results)} results to {output}", style="dim")
