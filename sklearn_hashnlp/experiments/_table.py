"""A table of results, as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"[<>≤≥≈~]?\s?[+−-]?\.?\d")  # what a number begins with; a unit or a deviation may follow
_NOTHING = {"", "-", "–", "—"}


class Table(NamedTuple):
    r"""A table of results.

    Parameters
    ----------
    title : str
        What it shows.
    header : sequence of str
        What stands above the columns.
    rows : sequence of sequences of str
        The cells, each row as long as the header.
    notes : sequence of str, default=()
        Sentences that stand below.

    Examples
    --------
    >>> table = Table("Accuracy", ["data", "%"], [["ag", "92.1"], ["imdb", "9.2"]])
    >>> print("\n".join(as_text(table)))
    Accuracy
      data     %
      ag    92.1
      imdb   9.2
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def as_text(table: Table) -> list[str]:
    """Lay a table out for a screen: columns aligned, numbers to the right."""
    right = _numeric_columns(table)
    cells = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(right))]
    lines = [
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, right, strict=True)
        )
        for row in cells
    ]
    return [table.title, *(f"  {line}".rstrip() for line in (*lines, *table.notes))]


def as_markdown(table: Table) -> list[str]:
    """Write a table as Markdown under a heading of the third level, numbers to the right."""
    right = _numeric_columns(table)
    rule = f"|{'|'.join('---:' if numeric else '---' for numeric in right)}|"
    header, *rows = (f"| {' | '.join(map(_escape, row))} |" for row in (table.header, *table.rows))
    lines = [f"### {table.title}", "", header, rule, *rows]
    for note in table.notes:
        lines += ["", note]
    return lines


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def _numeric_columns(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers, and nothing else but what stands for none."""
    for row in table.rows:
        if len(row) != len(table.header):
            raise ValueError(
                f"Each row of the table {table.title!r} must have {len(table.header)} cells as its header has, got "
                f"{len(row)}: {list(row)!r}."
            )
    columns = [[row[column] for row in table.rows] for column in range(len(table.header))]
    return [
        any(cell not in _NOTHING for cell in column)
        and all(cell in _NOTHING or _NUMBER.match(cell) is not None for cell in column)
        for column in columns
    ]
