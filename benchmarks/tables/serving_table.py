"""The table of docs/serving.md, from the JSON of bench_serving.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "serving.json"
PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
BLOCK = re.compile(r"(<!-- table: serving -->\n).*?(<!-- end of table -->)", re.DOTALL)
METHODS = {
    "exported_small": "exported file, 100,000 buckets",
    "exported": "exported folder, default",
    "command_small": "`hashnlp predict`, 100,000 buckets",
    "command": "`hashnlp predict`, default",
    "process": "`load_model`, default",
    "fasttext": "fastText, 2,000,000 buckets",
    "svm": "TF-IDF + LinearSVC, joblib",
}
COLUMNS = {
    "MB": ("size, MB", 1),
    "start s": ("start, s", 2),
    "memory MiB": ("memory, MiB", 0),
    "single ms": ("one text, ms", 2),
    "single p99 ms": ("99 %", 2),
    "threads ms": ("eight threads, ms", 2),
    "threads p99 ms": ("99 %", 1),
    "threads texts/s": ("texts/s", 0),
}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per method; empty cells were not measured."""
    models = result.get("models", {})
    return table(
        ("", *(head for head, _ in COLUMNS.values())),
        (
            (
                title,
                *(
                    f"{models[name][key]:,.{digits}f}" if key in models[name] else ""
                    for key, (_, digits) in COLUMNS.items()
                ),
            )
            for name, title in METHODS.items()
            if name in models
        ),
    )


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
