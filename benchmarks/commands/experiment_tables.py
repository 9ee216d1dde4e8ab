"""Tables of experiments on the pages of the docs, from JSON lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from benchmarks.commands.report import make_tables
from benchmarks.runner.table import Table, as_markdown

FILES = {  # of results, by page
    "experiments.md": ["experiments"],
    "coming_from_paddle.md": ["hsigmoid-ptb"],
    "coming_from_tensorflow.md": ["nplm"],
    "mixtures.md": ["ptb-table", "brown"],
    "reversal.md": ["reversal", "reversal-sgd"],
    "ngram_memory.md": ["ngram-memory"],
}
BLOCK = re.compile(r"(<!-- tables: ([a-z -]+) -->\n).*?(<!-- end of tables -->)", re.DOTALL)
LONG = 24  # rows


def fill(page: str, results: Sequence[dict[str, Any]]) -> str:
    """Replace the tables on the page; the comment before a table names its recipes."""

    def tables(block: re.Match[str]) -> str:
        names = block[2].split()
        chosen = make_tables(result for result in results if result["recipe"] in names)
        text = "\n\n".join(map(_folded, chosen))
        return f"{block[1]}\n{text}\n\n{block[3]}"

    return BLOCK.sub(tables, page)


def _folded(table: Table) -> str:
    """Format a table as Markdown; the rows of a long one are folded."""
    if len(table.rows) <= LONG:
        return "\n".join(as_markdown(table))
    title, *rows = as_markdown(table._replace(notes=()))
    folded = (
        f"<details>\n<summary>{len(table.rows)} rows</summary>\n"
        + "\n".join(rows)
        + "\n\n</details>"
    )
    return "\n\n".join([title, folded, *table.notes])
