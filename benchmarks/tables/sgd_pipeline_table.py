"""The table of docs/coming_from_scikit_learn.md, from the JSON of bench_sgd_pipeline.py."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table
from benchmarks.tables.small_sets_table import SETS

RESULT = FOLDER / "sgd_pipeline.json"
PAGE = Path(__file__).parents[2] / "docs" / "coming_from_scikit_learn.md"
BLOCK = re.compile(r"(<!-- table: sgd pipeline -->\n).*?(<!-- end of table -->)", re.DOTALL)
MODELS = {
    "scikit-learn": "`HashingVectorizer`, `SGDClassifier`",
    "vectorizer": "`HashingNgramVectorizer`, `SGDClassifier`",
    "TextClassifier": "`TextClassifier`",
}
HEADS = ("", "", "accuracy, %", "`fit`", "`predict`", "times as fast in `fit`", "in `predict`")


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and model, with the ratios of its seconds to those of scikit-learn."""
    rows = []
    for name, cell in result.get("sets", {}).items():
        seconds = {
            model: [statistics.median(runs[field]) for field in ("fit", "predict")]
            for model, runs in cell["models"].items()
        }
        for model, title in MODELS.items():
            ratios = [theirs / ours for theirs, ours in zip(seconds["scikit-learn"], seconds[model], strict=True)]
            accuracies = cell["models"][model]["accuracy"]
            spread = f" ± {statistics.stdev(accuracies):.2f}" if len(accuracies) > 1 else ""
            rows.append(
                (
                    f"{SETS[name]}, {cell['rows'][0]:,} rows" if model == "scikit-learn" else "",
                    title,
                    f"{statistics.mean(accuracies):.2f}{spread}",
                    *(f"{value:.2f} s" for value in seconds[model]),
                    *(("", "") if model == "scikit-learn" else (f"{ratio:.1f}" for ratio in ratios)),
                )
            )
    return table(HEADS, rows)


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
