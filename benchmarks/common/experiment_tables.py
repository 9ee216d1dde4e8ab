"""The tables of the page on experiments, made from the JSON lines of ``hashnlp experiments run``.

cd benchmarks && python -m common.experiment_tables   (writes docs/experiments.md and the pictures beside it)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sklearn_hashnlp.experiments._report import make_tables, plots_of
from sklearn_hashnlp.experiments._results_file import read_results
from sklearn_hashnlp.experiments._table import Table, as_markdown

from .results_file import FOLDER

RESULTS = FOLDER / "experiments.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
PLACE = re.compile(r"(<!-- tables: ([a-z -]+) -->\n).*?(<!-- end of tables -->)", re.DOTALL)
LONG = 24  # rows


def fill(page: str, results: Sequence[dict[str, Any]]) -> str:
    """Put the tables in their places on the page: a place names the recipes whose results it shows."""

    def tables(place: re.Match[str]) -> str:
        names = place[2].split()
        chosen = make_tables(result for result in results if result["recipe"] in names)
        text = "\n\n".join(map(_shown, chosen))
        return f"{place[1]}\n{text}\n\n{place[3]}"

    return PLACE.sub(tables, page)


def _shown(table: Table) -> str:
    """Write a table as Markdown; the rows of a long one are folded away, its title and notes are not."""
    if len(table.rows) <= LONG:
        return "\n".join(as_markdown(table))
    title, *rows = as_markdown(table._replace(notes=()))
    folded = f"<details>\n<summary>{len(table.rows)} rows</summary>\n" + "\n".join(rows) + "\n\n</details>"
    return "\n\n".join([title, folded, *table.notes])


def draw(results: Sequence[dict[str, Any]], folder: Path) -> None:
    """Draw the pictures."""
    folder.mkdir(exist_ok=True)
    for name, plot in plots_of(results):
        figure = Figure(layout="constrained")
        plot(figure)
        figure.savefig(folder / f"{name}.png", dpi=80)


def main() -> None:
    results = read_results(RESULTS)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    draw(results, PAGE.with_name("images"))


if __name__ == "__main__":
    main()
