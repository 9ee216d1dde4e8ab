"""``hashnlp experiments run``: experiments, with their data sets and seeds, to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import one_line, reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen, command_name

HELP = """\
Run experiments, and print their table.

\b
  hashnlp experiments run reversal --quick
  hashnlp experiments run reversal --output found.jsonl
  hashnlp experiments run reversal -o found.jsonl --seeds 5 --processes 2
  hashnlp experiments run reversal --seed 1 --set batch_size=1
  hashnlp experiments run hash-embed-nodict std-embed-nodict -d ag -d imdb

The first is a trial of seconds that proves nothing. The second adds each result to a file, too. The third runs five \
seeds, two at a time. The fourth has another seed and setting. The fifth runs each of two experiments on each of two \
data sets.

Results are JSON lines: each says the experiment, settings, seed, day, machine and versions it comes from, and is \
written as soon as it is there. Whatever stops a run (Ctrl-C, a kill, a power cut), the same command goes on where it \
stopped: what is finished in the file is not run again, and the results are the same as without the interruption, \
times apart. What an unfinished run needs for that lies beside the file, in FILE.parts.

A file can hold results of anything; the same seed and settings are the same run. If one of several runs fails, the \
others go on.
"""

LARGEST_SEED = 2**32 - 1


@reporting_errors
def run_experiments(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of the experiments.", show_default=False)],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="DATASET",
            help="Data set, for experiments that can run on several; may be given several times.",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting; may be given several times.", show_default=False
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes: to see that it works.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Same seed, same results, times apart.")] = 0,
    n_seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="Run with N seeds, from --seed upwards.")
    ] = 1,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Runs at a time; they share the processor.")
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="JSON lines are added to this file; what it holds is not run again.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run recipes; the parameters are the command's options."""
    from sklearn_hashnlp.cli.experiments._progress import RunsOnScreen, TimeLeft
    from sklearn_hashnlp.cli.experiments._report import show_tables
    from sklearn_hashnlp.experiments import get_recipe
    from sklearn_hashnlp.experiments._run import plan_runs
    from sklearn_hashnlp.experiments._run_all import run_all

    if seed + n_seeds - 1 > LARGEST_SEED:
        raise typer.BadParameter(f"{n_seeds} seeds from {seed} on go beyond the largest, {LARGEST_SEED}.")
    screen = Screen(as_json=as_json, quiet=quiet)
    runs = plan_runs(
        [get_recipe(name) for name in names],
        datasets=datasets or (),
        changes=changes or (),
        seeds=range(seed, seed + n_seeds),
        quick=quick,
    )
    with screen.progress(TimeLeft()) as progress:
        shown = RunsOnScreen(screen, progress, len(runs))
        results, failures = run_all(runs, output=output, processes=processes, listener=shown)
    show_tables(screen, results)
    if output is not None and (results or not failures):
        screen.note(f"\nAdded {shown.n_added} results to {output}", style="dim")
        screen.note(f"Tables of all it holds: {command_name()} experiments report {output}", style="dim")
    if failures:
        run, error = failures[0]
        if len(runs) == 1:
            raise error
        again = "" if output is None else "; the same command goes on with them"
        raise RuntimeError(
            f"{len(failures)} of {len(runs)} runs failed{again}. The first was {run.name}: {one_line(error)}"
        ) from error
