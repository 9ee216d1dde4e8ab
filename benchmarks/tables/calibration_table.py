"""The table of docs/probabilities.md, from the JSON of bench_calibration.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import number, table

RESULT = FOLDER / "calibration.json"
PAGE = Path(__file__).parents[2] / "docs" / "probabilities.md"
BLOCK = re.compile(r"(<!-- table: calibration -->\n).*?(<!-- end of table -->)", re.DOTALL)
SETS = {"ag_news": "AG News", "sst2": "SST-2", "trec": "TREC"}
MODELS = {
    "calibrated": 'calibrate="auto"',
    "not calibrated": "calibrate=False",
    "linear": "TF-IDF + LogisticRegression",
}
COLUMNS = {"accuracy": 2, "ECE": 4, "log loss": 3, "temperature": 2}  # decimal places


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and model, mean and spread over the seeds."""
    return table(
        ("", "", "accuracy %", "ECE", "log loss", "temperature"),
        (
            (SETS[name], MODELS[model], *(number(models[model]["runs"], *column) for column in COLUMNS.items()))
            for name, models in result.get("sets", {}).items()
            for model in MODELS
            if model in models
        ),
    )


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
