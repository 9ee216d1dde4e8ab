"""``hashnlp experiments`` and its subcommands: reproductions of published experiments."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.experiments import _list, _report, _run

HELP = """\
Reproduce published experiments, and compare your results with the published ones.

\b
  hashnlp experiments list                            list all experiments
  hashnlp experiments list reversal                   show its settings
  hashnlp experiments run reversal -o results.jsonl   run or resume it
  hashnlp experiments report results.jsonl            print tables
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("list", help=_list.HELP)(_list.list_experiments)
app.command("run", help=_run.HELP)(_run.run_experiments)
app.command("report", help=_report.HELP)(_report.report_experiments)
