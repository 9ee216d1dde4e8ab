"""``python -m benchmarks`` and its subcommands: reproductions of published experiments."""

from __future__ import annotations

import typer

from benchmarks.commands import list as _list
from benchmarks.commands import report as _report
from benchmarks.commands import run as _run
from sklearn_hashnlp.cli._errors import CommandGroup

HELP = """\
Reproduce published experiments, and compare your results with the published ones.

\b
  python -m benchmarks list                            list all experiments
  python -m benchmarks list reversal                   show its settings
  python -m benchmarks run reversal -o results.jsonl   run or resume it
  python -m benchmarks report results.jsonl            print tables
"""

app = typer.Typer(
    name="benchmarks",
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("list", help=_list.HELP)(_list.list_experiments)
app.command("run", help=_run.HELP)(_run.run_experiments)
app.command("report", help=_report.HELP)(_report.report_experiments)
