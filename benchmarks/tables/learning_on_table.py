"""The tables of docs/stream.md, from the JSON of bench_learning_on.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "learning_on.json"
PAGE = Path(__file__).parents[2] / "docs" / "stream.md"
BLOCK = re.compile(r"(<!-- table: learning on -->\n).*?(<!-- end of table -->)", re.DOTALL)
TITLES = {"trec": "TREC", "atis": "ATIS", "sst2": "SST-2", "swda": "SwDA", "ag_news": "AG News"}
MORE = ("1", "10", "100", "1000")


def markdown(result: dict[str, Any]) -> str:
    """Return the table of further texts, and the one of ten nights."""
    cells = [
        (title, size, cell)
        for name, title in TITLES.items()
        for size, cell in sorted(result.get("sets", {}).get(name, {}).items(), key=lambda item: int(item[0]))
    ]
    further = table(
        ("", "texts of the fit", "accuracy", *(f"{int(n):,} more" for n in MORE), "refit with 1,000 more"),
        (
            (title, f"{int(size):,}", f"{cell['accuracy']:.2f}", *changes(cell), f"{cell['change']['refit']:+.2f}")
            for title, size, cell in cells
        ),
    )
    return f"{further}\n\n{table(('', 'texts of the fit', 'after the fit', *NIGHTS, 'refit'), nights(cells))}"


def changes(cell: dict[str, Any]) -> Iterator[str]:
    """Return the mean change of the accuracy in points, and that of the worst seed, for each number of texts."""
    for n in MORE:
        yield f"{cell['change'][n]:+.2f} ({cell['worst'][n]:+.2f})"


NIGHTS = ("after ten nights", "largest drop in a night")


def nights(cells: list[tuple[str, str, dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """Return rows with accuracy, log loss and mean top probability before, after, and of a refit."""
    for title, size, cell in cells:
        if "nights" not in cell:
            continue
        own = cell["nights"]
        ends = zip(own["accuracies"], own["log_losses"], own["top_probabilities"], strict=True)
        courses = [f"{accuracy:.2f}, {loss:.3f}, {top:.3f}" for accuracy, loss, top in ends]
        refit = ", ".join((f"{own['refit'][0]:.2f}", f"{own['refit'][1]:.3f}"))
        yield title, f"{int(size):,}", courses[0], courses[-1], f"{own['largest_fall']:.2f}", refit


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the tables on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the tables into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
