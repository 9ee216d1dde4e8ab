"""The table of docs/tuning.md, from the JSON of bench_tune.py."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "tune.json"
PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"
BLOCK = re.compile(r"(<!-- table: tune -->\n).*?(<!-- end of table -->)", re.DOTALL)
MODELS = {"default": "default parameters", "best": "best model", "small": "best model of at most 1 MB"}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per model, with the accuracies of all seeds."""
    searches = result.get("searches", [])
    rows = []
    for name, label in MODELS.items():
        accuracies = [one["held out"][name] for one in searches]
        size = max(one["bytes"][name] for one in searches) / 1e6
        rows.append(
            (label, f"{statistics.mean(accuracies):.1f}", *(f"{value:.1f}" for value in accuracies), f"{size:.2f} MB")
        )
    return table(("", "mean", *(f"seed {one['seed']}" for one in searches), "largest size"), rows)


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
