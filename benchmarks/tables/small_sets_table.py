"""The table of docs/classifier.md against a tuned linear model, from the JSON of bench_small_sets.py."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "small_sets.json"
PAGE = Path(__file__).parents[2] / "docs" / "classifier.md"
BLOCK = re.compile(r"(<!-- table: small sets -->\n).*?(<!-- end of table -->)", re.DOTALL)
SETS = {
    "ag_news": "AG News",
    "imdb": "IMDB",
    "swda": "SwDA",
    "mrda": "MRDA",
    "trec": "TREC",
    "sst2": "SST-2",
    "atis": "ATIS",
    "languages79": "79 languages",
}
SIZES = {"250": "250 rows", "1000": "1,000 rows", "4000": "4,000 rows", "0": "all rows"}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set, ours / linear for each number of training rows, and the mean leads."""
    sets, leads = result.get("sets", {}), mean_leads(result)
    rows = [(SETS[name], *(_cell(sets[name].get(size)) for size in SIZES)) for name in SETS if name in sets]
    mean = ("mean lead", *(f"{leads[size][0]:+.2f} ({leads[size][1]} sets)" if size in leads else "" for size in SIZES))
    return table(("", *SIZES.values()), [*rows, mean, ("seconds of a fit", *(_seconds(sets, size) for size in SIZES))])


def mean_leads(result: dict[str, Any]) -> dict[str, tuple[float, int]]:
    """Return for each number of rows the mean lead over the data sets, and their number."""
    sets = result.get("sets", {}).values()
    leads = {size: [cells[size]["lead"] for cells in sets if size in cells] for size in SIZES}
    return {size: (statistics.mean(values), len(values)) for size, values in leads.items() if values}


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _seconds(sets: dict[str, Any], size: str) -> str:
    seconds = [cells[size]["cpu seconds"] for cells in sets.values() if size in cells]
    return f"{min(seconds):.2f} to {max(seconds):.1f}" if seconds else ""


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['ours']:.2f} / {cell['linear']:.2f}"
