"""``python -m benchmarks report``: tables and plots of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmarks.commands.recipes import RecipeOption, own_recipes
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen, counted

if TYPE_CHECKING:
    from benchmarks.runner import Recipe

HELP = """\
Print tables of results, with the published ones.

\b
  python -m benchmarks report results.jsonl
  python -m benchmarks report mine.jsonl yours.jsonl --markdown table.md
  python -m benchmarks report results.jsonl --plot plots
  python -m benchmarks report results.jsonl --json

FILE is the output of `python -m benchmarks run --output FILE`, finished or not. Related experiments are in one table; \
results of --quick and of other settings are in rows of their own. If several files have results of the same settings \
and seed, those of the last FILE count.

Results of experiments of your own need their recipes: --recipe my_module:MY_RECIPE.

--plot saves plots as NAME.png in a folder; it needs matplotlib. --json prints each table as an object.
"""


@reporting_errors
def report_experiments(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Results as JSON lines.", show_default=False)],
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables to this file, as Markdown.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save plots in this folder.", show_default=False)
    ] = None,
    recipe: RecipeOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report results; the parameters are the options of the command."""
    from benchmarks.runner import RECIPES
    from benchmarks.runner.report import make_tables, sort_results
    from benchmarks.runner.results_file import read_results
    from benchmarks.runner.table import as_markdown

    screen = Screen(as_json=as_json, quiet=False)  # the tables are no hint
    notes = Screen(as_json=as_json, quiet=quiet)
    recipes = RECIPES | own_recipes(recipe)
    results = [result for file in files for result in read_results(file)]
    unknown = sorted({result["recipe"] for result in results} - set(recipes))
    if unknown:
        notes.note(
            f"Skipped results of unknown experiments: {', '.join(unknown)}; recipes of your own are named by --recipe "
            "MODULE:NAME"
        )
    n_duplicates = sum(result["recipe"] in recipes for result in results) - len(sort_results(results, recipes))
    if n_duplicates:
        notes.note(f"Skipped {counted(n_duplicates, 'result')} with the settings, seed and step of a later one")
    tables = make_tables(results, recipes)
    if not tables:
        raise ValueError(f"No results of experiments in {', '.join(map(str, files))}.")
    if as_json:
        for table in tables:
            screen.show_json(table._asdict())
    show_tables(screen, results, recipes)
    if markdown is not None:
        lines = "\n\n".join("\n".join(as_markdown(table)) for table in tables)
        markdown.write_text(f"{lines}\n", encoding="utf-8")
        notes.note(f"\nTables saved in {markdown}", style="dim")
    if plot is not None:
        paths = _save_plots(plot, results, recipes)
        notes.note(f"\nPlots saved in {', '.join(map(str, paths))}" if paths else "\nNo plots", style="dim")


def show_tables(screen: Screen, results: Sequence[dict[str, Any]], recipes: Mapping[str, Recipe]) -> None:
    """Print the tables of the results of some recipes."""
    from benchmarks.runner.report import make_tables
    from benchmarks.runner.table import as_text

    for table in make_tables(results, recipes):
        screen.show("")
        for line in as_text(table):
            screen.show(line)


def _save_plots(folder: Path, results: Sequence[dict[str, Any]], recipes: Mapping[str, Recipe]) -> list[Path]:
    """Draw all plots; return their paths."""
    # First: where matplotlib is missing, the error of this import says how to install it.
    import sklearn_hashnlp.plotting  # noqa: F401

    # isort: split
    from matplotlib.figure import Figure

    from benchmarks.runner.report import make_plots

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in make_plots(results, recipes):
        figure = Figure(layout="constrained")
        draw(figure)
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=150)
        paths.append(path)
    return paths
