"""The table of docs/larger_than_one_machine.md about merged classifiers, from the JSON of bench_merge.py."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .results_file import FOLDER, read_result
from .sentence_tables import table

RESULT = FOLDER / "merge.json"
PAGE = Path(__file__).parents[2] / "docs" / "larger_than_one_machine.md"
BLOCK = re.compile(r"(<!-- table: merge -->\n).*?(<!-- end of table -->)", re.DOTALL)
METHODS = ("merged", "vote", "alone")
HEADS = ("parts", "merged", "soft vote", "a model alone", "longest fit", "merging", "a model is")


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per number of parts; with one part all three are the model of all rows."""
    rows = []
    for n_parts, cell in sorted(result.get("parts", {}).items(), key=lambda pair: int(pair[0])):
        accuracies = [_mean(cell["accuracy"][method]) for method in METHODS]
        costs = (
            f"{cell['seconds of the longest fit']:.2f} s",
            "" if n_parts == "1" else f"{cell['seconds of merging']:.2f} s",
            f"{cell['megabytes of a model']:.0f} MB",
        )
        rows.append((n_parts, *(accuracies if n_parts != "1" else (accuracies[0], "", "")), *costs))
    return table(HEADS, rows)


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f}"
