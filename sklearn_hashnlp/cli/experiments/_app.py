"""``hashnlp experiments``: published experiments, repeated by one command."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.experiments import _list, _report, _run

HELP = """\
Repeat published experiments with this package, and get their tables with your machine's numbers.

\b
  hashnlp experiments list                          which there are
  hashnlp experiments list reversal                 what one does, and what can be changed
  hashnlp experiments run reversal -o found.jsonl   run it; run it again to go on where it stopped
  hashnlp experiments report found.jsonl            its table, measured beside published
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("list", help=_list.HELP)(_list.list_experiments)
app.command("run", help=_run.HELP)(_run.run_experiments)
app.command("report", help=_report.HELP)(_report.report_experiments)
