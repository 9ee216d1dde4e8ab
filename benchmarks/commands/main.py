"""The command ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.commands.report import make_tables, save_plots, sort_results
from benchmarks.commands.scripts import find_scripts, result_tables, run_script, summary_of
from benchmarks.commands.stale import reasons, stale_results
from benchmarks.recipes.hash_embedding_settings import DATASETS
from benchmarks.recipes.text_sets import ARCHIVES, fetch_text_set
from benchmarks.runner.progress import RunProgress, one_line
from benchmarks.runner.recipe import Recipe, Result
from benchmarks.runner.results_file import read_results
from benchmarks.runner.run import plan_runs
from benchmarks.runner.run_all import run_all
from benchmarks.runner.settings import STDLIB, format_setting
from benchmarks.runner.table import as_markdown, as_text

PROGRAM = "python -m benchmarks"
# Errors with a message for the user
_EXPECTED = (OSError, ValueError, TypeError, ImportError, MemoryError, RuntimeError)
_MAX_SEED = 2**32 - 1
_RESULTS = Path(__file__).parents[1] / "results"
_PIPE_CLOSED = 141
_DESCRIPTION = f"""\
List, run and report experiments, which are recipes with settings and seeds, and benchmarks, which
are scripts with options of their own.

  {PROGRAM} list                            all experiments and benchmarks
  {PROGRAM} list reversal                   one experiment, with its settings
  {PROGRAM} run reversal --quick            a trial run of some seconds
  {PROGRAM} run reversal -o results.jsonl   run or resume it
  {PROGRAM} run bench_scale --help          the options of a benchmark
  {PROGRAM} report results.jsonl            tables, with published results
  {PROGRAM} fetch ag                        a data set of Zhang, Zhao and LeCun
  {PROGRAM} stale                           stored results older than their code
"""
_STALE = f"""\
List stored results that are older than the code that they measure, one a line: the file, the part
that was measured at once, its commit and time, the number of later commits, and files that differ.

  {PROGRAM} stale
  {PROGRAM} stale benchmarks/results/serving.json --all

The code of a result is the benchmark or the experiment and all that it imports from this
repository, with the C++ beside kernels. A difference is not always one in what is measured.
"""
_RUN = f"""\
Run experiments, and print their tables, or a benchmark.

  {PROGRAM} run reversal -o results.jsonl --seeds 5 --processes 2
  {PROGRAM} run reversal --seed 1 --set batch_size=1
  {PROGRAM} run hash-embed-nodict std-embed-nodict -d ag -d imdb
  {PROGRAM} run my_module:MY_RECIPE -o results.jsonl
  {PROGRAM} run bench_vectorizers -- --rounds 3

Results are JSON lines with the experiment, settings, seed, date, commit, machine and versions,
written as soon as they are computed. After an interruption (Ctrl-C, kill, power failure) the same
command resumes: finished results in the file are not computed again, and all results are the same
as without the interruption, except for times. Checkpoints of unfinished runs are in the folder
FILE.parts.

One file can have results of many experiments; a run is identified by its settings and seed. If one
of several runs fails, the others continue. All arguments after the name of a benchmark are its own.
"""
_FETCH = f"""\
Download data sets of Zhang, Zhao and LeCun (2015), and print their folders.

  {PROGRAM} fetch ag dbpedia

The archives are fast.ai's public copies, and checked against their published SHA-256. The authors'
terms of use are in readme.txt of each. A set that is there is not downloaded again.
"""
_REPORT = f"""\
Print tables of results, with the published ones.

  {PROGRAM} report results.jsonl --markdown table.md --plot plots
  {PROGRAM} report mine.jsonl yours.jsonl --recipe my_module:MY_RECIPE
  {PROGRAM} report benchmarks/results/serving.json

FILE is the output of `{PROGRAM} run`, finished or not, or the JSON of a benchmark. Related
experiments are in one table; results of --quick and of other settings are in rows of their own. If
several files have results of the same settings and seed, the last FILE counts.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, by default with the arguments of the process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"] and len(given) > 1 and given[1] in find_scripts():
        run_script(given[1], given[3:] if given[2:3] == ["--"] else given[2:])
    options = _parser().parse_args(given)
    try:
        options.function(options)
        sys.stdout.flush()  # raises BrokenPipeError here rather than at exit
    except BrokenPipeError:  # the reader has ended, such as head
        # What is not flushed yet goes to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_PIPE_CLOSED)
    except KeyboardInterrupt:
        _exit("interrupted; the same command resumes", 130)
    except _EXPECTED as error:
        if options.debug:
            raise
        _exit(one_line(error), 1)


def _exit(message: str, code: int) -> NoReturn:
    print(f"benchmarks: {message}", file=sys.stderr)
    sys.exit(code)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _exit(f"{message} See: {self.prog} --help", 2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="{list,run,report,fetch,stale,docs}")
    for name, text, function, add in (
        (
            "list",
            "List experiments and benchmarks, or describe one experiment.",
            _list,
            _add_list_options,
        ),
        ("run", _RUN, _run, _add_run_options),
        ("report", _REPORT, _report, _add_report_options),
        ("fetch", _FETCH, _fetch, _add_fetch_options),
        ("stale", _STALE, _stale, _add_stale_options),
        (
            "docs",
            "Write the tables and figures of the docs from the stored results.",
            _docs,
            lambda _command: None,
        ),
    ):
        style = argparse.RawDescriptionHelpFormatter
        command = commands.add_parser(
            name, description=text, help=text.partition("\n")[0], formatter_class=style
        )
        command.set_defaults(function=function)
        command.add_argument("--debug", action="store_true", help="print the traceback of an error")
        add(command)
    return parser


def _add_list_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="an experiment, or MODULE:NAME of your own")


def _add_run_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "names",
        nargs="+",
        metavar="NAME",
        help="experiments, or MODULE:NAME of your own; or one benchmark",
    )
    help_of_datasets = (
        "data set, for experiments with a choice: a name, a folder or a CSV file; can be repeated"
    )
    add(
        "-d",
        "--data",
        action="append",
        default=[],
        metavar="DATA",
        help=f"{help_of_datasets}. all: the paper's",
    )
    help_of_classifiers = "MODULE:NAME of a classifier of your own, to compare; can be repeated"
    add(
        "--classifier", action="append", default=[], metavar="MODULE:NAME", help=help_of_classifiers
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="changes",
        help="change a setting",
    )
    add(
        "--quick",
        action="store_true",
        help="tiny sizes, on docstrings unless data is named: a trial run",
    )
    add(
        "--seed", type=int, default=0, help="random seed: same seed, same results, except for times"
    )
    add("--seeds", type=int, default=1, metavar="N", help="run with N seeds, starting at --seed")
    add(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="number of parallel runs; they share the CPU cores",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="append JSON lines; runs in the file are not repeated",
    )
    add("-q", "--quiet", action="store_true", help="print no log; with --output, no tables either")


def _add_report_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="JSON lines, or the JSON of a benchmark"
    )
    command.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables to this file, as Markdown"
    )
    command.add_argument("--plot", type=Path, metavar="FOLDER", help="save plots in this folder")
    command.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="the recipe of an experiment of your own",
    )


def _add_fetch_options(command: argparse.ArgumentParser) -> None:
    sizes = ", ".join(f"{name} ({archive.megabytes} MB)" for name, archive in ARCHIVES.items())
    command.add_argument("names", nargs="+", choices=ARCHIVES, metavar="NAME", help=sizes)
    command.add_argument(
        "--folder", default="", help="default: HASHNLP_DATA or ~/sklearn_hashnlp_data"
    )


def _add_stale_options(command: argparse.ArgumentParser) -> None:
    text = "JSON lines, or the JSON of a benchmark (default: all in benchmarks/results)"
    command.add_argument("files", nargs="*", type=Path, metavar="FILE", help=text)
    command.add_argument("--all", action="store_true", help="name all files that differ")


def _list(options: argparse.Namespace) -> None:
    """List all, or describe one experiment."""
    if options.name is None:
        lines = {name: recipe.summary for name, recipe in RECIPES.items()}
        lines |= {name: summary_of(path) for name, path in find_scripts().items()}
        width = max(map(len, lines))
        for name, summary in lines.items():
            print(f"{name:<{width}}  {summary}")
        print(f"\nDescribe one: {PROGRAM} list {next(iter(lines))}", file=sys.stderr)
        return
    recipe = get_recipe(options.name)
    rows = [
        (one.name, format_setting(getattr(recipe.settings, one.name)), one.metadata.get("help", ""))
        for one in fields(recipe.settings)
    ]
    widths = [max(len(row[column]) for row in [("setting", "value"), *rows]) for column in (0, 1)]
    print(f"{recipe.name}: {recipe.summary}\n\n{recipe.description}\n")
    for name, value, text in [("setting", "value", "description"), *rows]:
        print(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {text}".rstrip())
    print(f"\nRun it with: {PROGRAM} run {options.name}", file=sys.stderr)


def _run(options: argparse.Namespace) -> None:
    """Plan and execute runs; print the tables of their results."""
    if not 0 <= options.seed <= options.seed + options.seeds - 1 <= _MAX_SEED:
        raise ValueError(f"--seed and --seeds must be seeds from 0 to {_MAX_SEED}, at least one.")
    recipes = [get_recipe(name) for name in options.names]
    changes = [
        *options.changes,
        *([f"classifiers={','.join(options.classifier)}"] if options.classifier else []),
    ]
    seeds = range(options.seed, options.seed + options.seeds)
    datasets = [
        name for given in options.data for name in (DATASETS if given == "all" else [given])
    ]
    runs = plan_runs(recipes, datasets=datasets, changes=changes, seeds=seeds, quick=options.quick)
    if any(STDLIB in vars(run.settings).values() for run in runs) and not options.quiet:
        print(
            "A trial on docstrings of Python's standard library; name other data by -d or --set",
            file=sys.stderr,
        )
    with RunProgress(len(runs), quiet=options.quiet) as progress:
        results, failures = run_all(
            runs, output=options.output, processes=options.processes, listener=progress
        )
    # without a file, the tables are all that remains of the results
    if options.output is None or not options.quiet:
        _print_tables(results, {recipe.name: recipe for recipe in recipes})
    if options.output is not None and not options.quiet and (results or not failures):
        own = "".join(f" --recipe {name}" for name in options.names if ":" in name)
        print(f"\nAdded {progress.n_added} results to {options.output}", file=sys.stderr)
        print(f"Tables of all its results: {PROGRAM} report {options.output}{own}", file=sys.stderr)
    if failures:
        run, error = failures[0]
        if len(runs) == 1:
            raise error
        hint = "" if options.output is None else "; the same command resumes them"
        raise RuntimeError(
            f"{len(failures)} of {len(runs)} runs failed{hint}. The first was {run.name}: "
            f"{one_line(error)}"
        ) from error


def _report(options: argparse.Namespace) -> None:
    """Print the tables of files of results; write them as Markdown, and save plots, if asked to."""
    recipes = RECIPES | {recipe.name: recipe for recipe in map(get_recipe, options.recipe)}
    texts = [
        text for path in options.files if path.suffix == ".json" for text in result_tables(path)
    ]
    results = [
        result for path in options.files if path.suffix != ".json" for result in read_results(path)
    ]
    unknown = sorted({result["recipe"] for result in results} - set(recipes))
    if unknown:
        print(
            f"Skipped results of unknown experiments: {', '.join(unknown)}; name your own by "
            "--recipe MODULE:NAME",
            file=sys.stderr,
        )
    n_duplicates = sum(result["recipe"] in recipes for result in results) - len(
        sort_results(results, recipes)
    )
    if n_duplicates:
        print(
            f"Skipped {n_duplicates} results with the settings, seed and step of a later one",
            file=sys.stderr,
        )
    tables = make_tables(results, recipes)
    if not tables and not texts:
        raise ValueError(
            f"No results of experiments or benchmarks in {', '.join(map(str, options.files))}."
        )
    _print_tables(results, recipes)
    for text in texts:
        print(f"\n{text}")
    if options.markdown is not None:
        texts = ["\n".join(as_markdown(table)) for table in tables] + texts
        options.markdown.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        print(f"\nTables saved in {options.markdown}", file=sys.stderr)
    if options.plot is not None:
        paths = ", ".join(map(str, save_plots(options.plot, results, recipes)))
        print(f"\nPlots saved in {paths}" if paths else "\nNo plots", file=sys.stderr)


def _fetch(options: argparse.Namespace) -> None:
    for name in options.names:
        print(f"{name}: {fetch_text_set(name, options.folder)}", flush=True)


def _stale(options: argparse.Namespace) -> None:
    paths = options.files or sorted(_RESULTS.glob("*.json*"))
    why = reasons(paths[0].parent)
    for line in stale_results(paths, all_files=options.all):
        reason = why.get(re.split(r"[ :]", line)[0])
        print(line if reason is None else f"{line}. {reason}")


def _docs(_options: argparse.Namespace) -> None:
    from benchmarks.commands.docs import update  # imports all benchmarks

    update()


def _print_tables(results: Iterable[Result], recipes: Mapping[str, Recipe]) -> None:
    for table in make_tables(results, recipes):
        print("", *as_text(table), sep="\n")
