"""The training history: a list of dicts that notebooks display as a table."""

from __future__ import annotations

from html import escape
from typing import Any

_MAX_ROWS = 60


class History(list[dict[str, Any]]):
    """One dict per epoch; displayed as a table in notebooks."""

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for entry in self for name in entry))
        shown = list(self) if len(self) <= _MAX_ROWS else [*self[: _MAX_ROWS // 2], None, *self[-_MAX_ROWS // 2 :]]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(
            f'<tr><td colspan="{len(names)}">... {len(self) - _MAX_ROWS:,} more</td></tr>'
            if entry is None
            else f"<tr>{''.join(f'<td>{_cell(entry.get(name))}</td>' for name in names)}</tr>"
            for entry in shown
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    """Format a metric of an epoch."""
    if value is None:
        return ""
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
