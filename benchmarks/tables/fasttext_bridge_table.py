"""The table of docs/coming_from_fasttext.md, from the JSON of bench_fasttext_bridge.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "fasttext_bridge.json"
PAGE = Path(__file__).parents[2] / "docs" / "coming_from_fasttext.md"
BLOCK = re.compile(r"(<!-- table: bridge -->\n).*?(<!-- end of table -->)", re.DOTALL)
HEADS = ("model", "MB", "other labels", "largest difference", "ours, s", "fastText, s", "faster by")


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per model."""
    return table(
        HEADS,
        (
            (
                name,
                f"{model['MB']:.1f}",
                f"{model['other labels']:,}",
                f"{model['largest difference']:.0e}",
                f"{model['ours s']['median']:.3f}",
                f"{model['fasttext s']['median']:.3f}",
                f"{model['ratio']:.1f}",
            )
            for name, model in result.get("models", {}).items()
        ),
    )


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(result)}\n\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")
