"""Tables of benchmarks in Markdown, and the blocks on the pages of the docs that hold them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from benchmarks.runner.table import markdown_rows

_BLOCK = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def fill(page: str, tables: Mapping[str, str]) -> str:
    """Replace the tables on a page; the comment before each is its name."""

    def replaced(block: re.Match[str]) -> str:
        if block[2] not in tables:
            return block[0]
        text = tables[block[2]]
        return f"{block[1]}\n{text}\n\n{block[3]}" if text else block[1] + block[3]

    return _BLOCK.sub(replaced, page)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a table as Markdown."""
    return "\n".join(markdown_rows(list(header), [list(row) for row in rows]))


def number(runs: Mapping[str, Any], name: str, digits: int) -> str:
    """Format mean and spread over the seeds of a figure; empty if it was not measured."""
    return cell(runs, lambda run: run[name], digits)


def cell(runs: Mapping[str, Any], value: Callable[[dict[str, Any]], float], digits: int) -> str:
    """Format mean and spread over seeds of a function of a run; empty if it was not measured."""
    measured = []
    for run in runs.values():
        try:
            measured.append(value(run))
        except (KeyError, ValueError):
            continue
    if not measured:
        return ""
    mean = f"{statistics.mean(measured):.{digits}f}"
    return mean if len(measured) == 1 else f"{mean} ± {statistics.pstdev(measured):.{digits}f}"
