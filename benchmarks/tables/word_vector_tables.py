"""The tables of docs/coming_from_gensim.md, from the JSON of bench_word_vectors.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import number, table

RESULT = FOLDER / "word_vectors.json"
PAGE = Path(__file__).parents[2] / "docs" / "coming_from_gensim.md"
BLOCK = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
FIGURES = {
    "analogies": 1,
    "nearest of the same group": 1,
    "average precision": 1,
    "sentences": 1,
    "processor seconds": 0,
}  # decimal places
SHOWN = ("france", "guitar", "wrote", "larger", "church", "professor")
NEIGHBORS = {
    "gensim, skip-gram": "gensim",
    "ours, words on both sides, embeddings": "embeddings",
    "ours, words on both sides, context vectors": "context vectors",
}


def figures(result: dict[str, Any]) -> str:
    """Return the table of all figures: a row per kind of vectors, means over the seeds."""
    return table(
        ("", "columns", *FIGURES),
        (
            (name, str(_first(model)["columns"]), *(number(model["runs"], *column) for column in FIGURES.items()))
            for name, model in result["models"].items()
        ),
    )


def neighbors(result: dict[str, Any]) -> str:
    """Return the nearest words of some words, with the first seed."""
    return table(
        ("", *NEIGHBORS.values()),
        (
            (word, *(", ".join(_first(result["models"][name])["nearest"][word][:5]) for name in NEIGHBORS))
            for word in SHOWN
        ),
    )


TABLES = {"figures": figures, "neighbors": neighbors}


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the tables on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{TABLES[block[2]](result)}\n\n{block[3]}", page)


def update_page() -> None:
    """Write the tables into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _first(model: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = next(iter(model["runs"].values()))
    return run
