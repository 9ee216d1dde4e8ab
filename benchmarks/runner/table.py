"""A table of results, as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"[<>≤≥≈~]?\s?[+−-]?\.?\d")  # start of a number; a unit or a deviation may follow
_EMPTY = {"", "-", "–", "—"}


class Table(NamedTuple):
    r"""A table of results.

    Parameters
    ----------
    title : str
        Title of the table.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells; each row has as many as the header.
    notes : sequence of str, default=()
        Sentences below the table.

    Examples
    --------
    >>> from benchmarks.runner import Table
    >>> table = Table("Accuracy", ["data", "%"], [["ag", "92.1"], ["imdb", "9.2"]])
    >>> table.title, len(table.rows)
    ('Accuracy', 2)
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def without_column(table: Table, name: str) -> Table:
    """Drop a column and its header."""
    index = list(table.header).index(name)
    header, *rows = ([*row[:index], *row[index + 1 :]] for row in (table.header, *table.rows))
    return table._replace(header=header, rows=rows)


def as_text(table: Table) -> list[str]:
    """Format a table as lines of plain text; numbers are right-aligned."""
    numeric = _numeric_columns(table)
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
    """Format a table as lines of Markdown, with a heading of level 3; numbers are right-aligned."""
    numeric = _numeric_columns(table)
    rule = f"|{'|'.join('---:' if is_numeric else '---' for is_numeric in numeric)}|"
    header, *rows = (f"| {' | '.join(map(_escape, row))} |" for row in (table.header, *table.rows))
    lines = [f"### {table.title}", "", header, rule, *rows]
    for note in table.notes:
        lines += ["", note]
    return lines


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def _numeric_columns(table: Table) -> list[bool]:
    """Return for each column True if all its cells are numbers or empty."""
    for row in table.rows:
        if len(row) != len(table.header):
            raise ValueError(
                f"Each row of the table {table.title!r} must have {len(table.header)} cells, as its header has, got "
                f"{len(row)}: {list(row)!r}."
            )
    columns = [[row[column] for row in table.rows] for column in range(len(table.header))]
    return [
        any(cell not in _EMPTY for cell in column)
        and all(cell in _EMPTY or _NUMBER.match(cell) is not None for cell in column)
        for column in columns
    ]
