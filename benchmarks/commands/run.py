"""``python -m benchmarks run``: run experiments on data sets with seeds, or resume them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.recipes import RecipeOption, own_recipes, recipe_arguments
from sklearn_hashnlp.cli._errors import one_line, reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen, counted

HELP = """\
Run experiments, and print their tables.

\b
  python -m benchmarks run reversal --quick
  python -m benchmarks run reversal --output results.jsonl
  python -m benchmarks run reversal -o results.jsonl --seeds 5 --processes 2
  python -m benchmarks run reversal --seed 1 --set batch_size=1
  python -m benchmarks run hash-embed-nodict std-embed-nodict -d ag -d imdb
  python -m benchmarks run --recipe my_module:MY_RECIPE -o results.jsonl

The first is a quick trial run of some seconds. The second also writes each result to a file. The third runs five \
seeds, two at a time. The fourth has another seed and setting. The fifth runs each of two experiments on each of two \
data sets. The sixth runs an experiment of your own, a Recipe in the file my_module.py of the current folder.

Results are JSON lines with the experiment, settings, seed, date, commit, machine and versions, written as soon as \
they are computed. After an interruption (Ctrl-C, kill, power failure) the same command resumes: finished results in \
the file are not computed again, and all results are the same as without the interruption, except for times. \
Checkpoints of unfinished runs are in the folder FILE.parts.

One file can have results of many experiments; a run is identified by its settings and seed. If one of several runs \
fails, the others continue.
"""

_MAX_SEED = 2**32 - 1


@reporting_errors
def run_experiments(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Names of the experiments.", show_default=False)
    ] = None,
    recipe: RecipeOption = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="DATASET",
            help="Data set, for experiments with a choice of data sets; can be repeated. all: the seven of the paper "
            "on hash embeddings.",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; can be repeated.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes, for a trial run.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, max=_MAX_SEED, help="Random seed: same seed, same results, except for times.")
    ] = 0,
    n_seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="Run with N seeds, starting at --seed.")
    ] = 1,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Number of parallel runs; they share the CPU cores.")
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Append JSON lines to this file; runs that it contains are not repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run recipes; the parameters are the options of the command."""
    from benchmarks.commands.progress import RemainingTime, RunProgress
    from benchmarks.commands.report import show_tables
    from benchmarks.recipes.hash_embedding_settings import DATASETS
    from benchmarks.runner import RECIPES, get_recipe
    from benchmarks.runner.run import plan_runs
    from benchmarks.runner.run_all import run_all

    if seed + n_seeds - 1 > _MAX_SEED:
        raise typer.BadParameter(f"{n_seeds} seeds from {seed} exceed the largest seed, {_MAX_SEED}.")
    screen = Screen(as_json=as_json, quiet=quiet)
    own = own_recipes(recipe)
    if not names and not own:
        raise typer.BadParameter("Name an experiment, or a recipe of your own: --recipe MODULE:NAME.")
    try:
        runs = plan_runs(
            [*(own[name] if name in own else get_recipe(name) for name in names or ()), *own.values()],
            datasets=[name for given in datasets or () for name in (DATASETS if given == "all" else [given])],
            changes=changes or (),
            seeds=range(seed, seed + n_seeds),
            quick=quick,
        )
    except ValueError as unknown:  # an experiment or a setting
        raise typer.BadParameter(str(unknown)) from unknown
    with screen.progress(RemainingTime()) as progress:
        listener = RunProgress(screen, progress, len(runs))
        results, failures = run_all(runs, output=output, processes=processes, listener=listener)
    # Without a file, the tables are all that remains of the results.
    show_tables(screen if output is not None else Screen(as_json=as_json, quiet=False), results, RECIPES | own)
    if output is not None and (results or not failures):
        screen.note(f"\nAdded {counted(listener.n_added, 'result')} to {output}", style="dim")
        report = f"python -m benchmarks report {output}{recipe_arguments(recipe)}"
        screen.note(f"Tables of all its results: {report}", style="dim")
    if failures:
        run, error = failures[0]
        if len(runs) == 1:
            raise error
        hint = "" if output is None else "; the same command resumes them"
        raise RuntimeError(
            f"{len(failures)} of {len(runs)} runs failed{hint}. The first was {run.name}: {one_line(error)}"
        ) from error
