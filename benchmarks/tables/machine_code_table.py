"""The table of docs/container.md, from the JSON of bench_machine_code.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "machine_code.json"
PAGE = Path(__file__).parents[2] / "docs" / "container.md"
BLOCK = re.compile(r"(<!-- table: machine code -->\n).*?(<!-- end of table -->)", re.DOTALL)
TASKS = {
    "start": "start of a process, up to the first answer of a small classifier",
    "vectorize": "`HashingNgramVectorizer`",
    "fit": "`TextClassifier().fit`",
    "fit by gradients": '`TextClassifier(loss="softmax").fit`',
    "predict": "`TextClassifier().predict`",
    "project": "`SGNNProjector`",
    "count": "`KneserNeyLanguageModel(order=3).fit`",
}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per task, and the ratio of portable machine code to that of the processor."""
    own, portable = (result.get("seconds", {}).get(kind, {}) for kind in ("own", "portable"))
    return table(
        ("", "own, s", "portable, s", "ratio"),
        (
            (title, f"{own[task]:.2f}", f"{portable[task]:.2f}", f"{portable[task] / own[task]:.2f}")
            for task, title in TASKS.items()
            if task in own
        ),
    )


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
