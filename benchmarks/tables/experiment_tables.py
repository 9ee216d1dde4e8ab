"""Tables and figures of experiments on the pages of the docs, from the JSON lines of ``python -m benchmarks run``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.common.results_file import FOLDER
from benchmarks.runner.report import make_plots, make_tables
from benchmarks.runner.results_file import read_results
from benchmarks.runner.table import Table, as_markdown

RESULTS = FOLDER / "experiments.jsonl"
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "experiments.md"
RECIPES = {  # results of the other pages
    DOCS / "coming_from_paddle.md": ["hsigmoid-ptb"],
    DOCS / "coming_from_tensorflow.md": ["nplm"],
    DOCS / "mixtures.md": ["ptb-table", "brown"],
    DOCS / "reversal.md": ["reversal", "reversal-sgd"],
}
BLOCK = re.compile(r"(<!-- tables: ([a-z -]+) -->\n).*?(<!-- end of tables -->)", re.DOTALL)
LONG = 24  # rows


def fill(page: str, results: Sequence[dict[str, Any]]) -> str:
    """Replace the tables on the page; the comment before a table names the recipes whose results it shows."""

    def tables(block: re.Match[str]) -> str:
        names = block[2].split()
        chosen = make_tables(result for result in results if result["recipe"] in names)
        text = "\n\n".join(map(_shown, chosen))
        return f"{block[1]}\n{text}\n\n{block[3]}"

    return BLOCK.sub(tables, page)


def _shown(table: Table) -> str:
    """Format a table as Markdown; the rows of a long one are folded."""
    if len(table.rows) <= LONG:
        return "\n".join(as_markdown(table))
    title, *rows = as_markdown(table._replace(notes=()))
    folded = f"<details>\n<summary>{len(table.rows)} rows</summary>\n" + "\n".join(rows) + "\n\n</details>"
    return "\n\n".join([title, folded, *table.notes])


def draw(results: Sequence[dict[str, Any]], folder: Path) -> None:
    """Save the figures."""
    folder.mkdir(exist_ok=True)
    for name, plot in make_plots(results):
        figure = Figure(layout="constrained")
        plot(figure)
        figure.savefig(folder / f"{name}.png", dpi=80)


def update_pages() -> None:
    """Write the tables into the pages and the figures next to them."""
    results = {PAGE: read_results(RESULTS)}
    draw(results[PAGE], PAGE.with_name("images"))
    for page, names in RECIPES.items():
        results[page] = [result for name in names for result in read_results(FOLDER / f"{name}.jsonl")]
    for page, measured in results.items():
        page.write_text(fill(page.read_text(encoding="utf-8"), measured), encoding="utf-8")
