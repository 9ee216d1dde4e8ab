"""The table of docs/classifier.md about pretrained vectors, from the JSON of bench_pretrained.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "pretrained.json"
PAGE = Path(__file__).parents[2] / "docs" / "classifier.md"
BLOCK = re.compile(r"(<!-- table: pretrained -->\n).*?(<!-- end of table -->)", re.DOTALL)
ALONE = "without"
COLUMNS = {ALONE: "n-grams", "Wikipedia": "Wikipedia", "and own texts": "and own texts", "teacher": "teacher"}
SETS = {"trec": "TREC", "sst2": "SST-2", "atis": "ATIS", "swda": "SwDA", "ag_news": "AG News"}
SIZES = {"250": "250", "1000": "1,000", "4000": "4,000", "0": "all"}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and number of training rows, a column per encoder."""
    sets = result.get("sets", {})
    measured = {model for sizes in sets.values() for cells in sizes.values() for model in cells}
    columns = [column for column in COLUMNS if column in measured]
    rows = [
        (SETS[name], SIZES[size], *(_cell(sets[name][size].get(column)) for column in columns))
        for name in SETS
        for size in SIZES
        if sets.get(name, {}).get(size)
    ]
    return table(("", "texts", *(COLUMNS[column] for column in columns)), rows)


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['accuracy']:.2f}"
