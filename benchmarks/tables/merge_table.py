"""The tables of docs/larger_than_one_machine.md: merged classifiers, and the cost of many documents.

The first is of the JSON of bench_merge.py. The second is computed from those of bench_scale.py and
bench_vectorizers.py: time in proportion to the number of documents, memory as it was measured.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "merge.json"
PAGE = Path(__file__).parents[2] / "docs" / "larger_than_one_machine.md"
BLOCK = re.compile(r"(<!-- table: merge -->\n).*?(<!-- end of table -->)", re.DOTALL)
COST_BLOCK = re.compile(r"(<!-- table: cost -->\n).*?(<!-- end of table -->)", re.DOTALL)
DOCUMENTS = tuple(10**power for power in range(6, 10))
N_PROCESSES = 16
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


def cost_markdown(scale: dict[str, Any], vectorizers: dict[str, Any]) -> str:
    """Return the table of the cost of many documents; its first row was measured."""
    run = scale["methods"]["partial_fit"]["runs"][-1]
    vectorizing = vectorizers["cases"]["words 1-2"]["ours s"] / vectorizers["data"]["texts"]
    training = run["seconds"] / run["documents"]
    rows = [
        (
            f"{n:,}",
            _duration(n * vectorizing),
            _duration(n * training),
            _duration(n * training / N_PROCESSES),
            f"{run['peak MiB']:.0f} MiB",
        )
        for n in DOCUMENTS
    ]
    heads = ("documents", "n-grams, a thread", "training, a process", f"{N_PROCESSES} processes", "memory of a process")
    return table(heads, rows)


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the tables on the page."""
    cost = cost_markdown(*(read_result(FOLDER / f"{name}.json") for name in ("scale", "vectorizers")))
    page = BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)
    return COST_BLOCK.sub(lambda block: f"{block[1]}\n{cost}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the tables into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _duration(seconds: float) -> str:
    """Return seconds in the unit that suits them."""
    units = (("h", 3600), ("min", 60), ("s", 1))
    unit, size = next((pair for pair in units if seconds >= 2 * pair[1]), units[-1])
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f}"
