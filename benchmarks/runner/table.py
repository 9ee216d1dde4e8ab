"""A table of results, as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.runner.settings import group_by_settings

# start of a number; a unit or a deviation may follow
_NUMBER = re.compile(r"[<>≤≥≈~]?\s?[+−-]?\.?\d")
_EMPTY = {"", "-", "–", "—"}


class Table(NamedTuple):
    """A table of results."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]  # each with one cell per column of the header
    notes: Sequence[str] = ()  # sentences below the table


def tables_by_settings(
    results: Sequence[dict[str, Any]], make: Callable[[Any], list[Table]]
) -> list[Table]:
    """Make the tables of the results of each settings; titles name the settings that differ."""
    return [
        table._replace(title=f"{table.title} ({changes})" if changes else table.title)
        for changes, group in group_by_settings(results)
        for table in make(group)
    ]


def without_column(table: Table, name: str) -> Table:
    """Drop a column and its header."""
    index = list(table.header).index(name)
    header, *rows = ([*row[:index], *row[index + 1 :]] for row in (table.header, *table.rows))
    return table._replace(header=header, rows=rows)


def as_text(table: Table) -> list[str]:
    """Format a table as lines of plain text; numbers are right-aligned."""
    numeric = _numeric_columns(table.header, table.rows)
    cells = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(numeric))]
    lines = [
        "  ".join(
            cell.rjust(width) if is_numeric else cell.ljust(width)
            for cell, width, is_numeric in zip(row, widths, numeric, strict=True)
        )
        for row in cells
    ]
    return [table.title, *(f"  {line}".rstrip() for line in (*lines, *table.notes))]


def as_markdown(table: Table) -> list[str]:
    """Format a table as lines of Markdown, with a heading of level 3."""
    lines = [f"### {table.title}", "", *markdown_rows(table.header, table.rows)]
    for note in table.notes:
        lines += ["", note]
    return lines


def markdown_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Format a header and rows as lines of Markdown; numbers are right-aligned."""
    numeric = _numeric_columns(header, rows)
    rule = f"|{'|'.join('---:' if is_numeric else '---' for is_numeric in numeric)}|"
    first, *others = (f"| {' | '.join(map(_escape, row))} |" for row in (header, *rows))
    return [first, rule, *others]


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def _numeric_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each column True if all its cells are numbers or empty."""
    for row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"Each row of a table must have {len(header)} cells, as its header has, got "
                f"{len(row)}: {list(row)!r}."
            )
    columns = [[row[column] for row in rows] for column in range(len(header))]
    return [
        any(cell not in _EMPTY for cell in column)
        and all(cell in _EMPTY or _NUMBER.match(cell) is not None for cell in column)
        for column in columns
    ]
