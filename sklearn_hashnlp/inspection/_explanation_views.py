"""Views of an explanation: colored text, and a table of n-grams, on a terminal and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sklearn_hashnlp.inspection._aligned_text import visible, visible_ngram


class NgramRow(NamedTuple):
    """An n-gram in the table of a label."""

    value: float  # its contribution
    ngram: str
    kind: str  # "" if all n-grams are of one kind
    n_times: int
    shared_with: tuple[str, ...]

    def notes(self, quoted: str = "{}") -> list[str]:
        """Return what is said about the n-gram; ``quoted`` is the format of other n-grams."""
        notes = [self.kind] if self.kind else []
        notes += [f"{self.n_times} times"] if self.n_times > 1 else []
        others = ", ".join(quoted.format(visible_ngram(other)) for other in self.shared_with)
        return [*notes, f"in one column with {others}"] if others else notes


class LabelView(NamedTuple):
    """The score of a label, the text with character weights, and the most important n-grams."""

    name: str
    score: float
    probability: float | None
    bias: float
    text: str
    weights: NDArray[np.float64]  # (n_characters,)
    rows: list[NgramRow]
    n_more: int  # number of n-grams that are not in the rows
    value_of_more: float  # sum of their contributions

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weights of the characters divided by the largest magnitude."""
        return self.weights / (float(np.abs(self.weights).max(initial=0.0)) or 1.0)

    def length(self, row: NgramRow) -> float:
        """Return the length of the bar of a row, relative to the longest."""
        return abs(row.value) / (max(abs(other.value) for other in self.rows) or 1.0)


def label_name(label: object) -> str:
    """Format a label, or a list of labels."""
    return ", ".join(map(str, label)) or "no label" if isinstance(label, list) else str(label)


_MIN_SHARE = 0.15  # of the largest weight; characters with less have no color
_STRONG_SHARE = 0.5
_BAR = 12  # characters
# Colors of the 256-color palette that are readable with light and dark themes.
_FOR, _STRONGLY_FOR = "black on color(153)", "white on color(25)"
_AGAINST, _STRONGLY_AGAINST = "black on color(223)", "white on color(130)"


def explanation_table(views: Sequence[LabelView]) -> RenderableType:
    """Return views of labels, one below the other."""
    parts: list[RenderableType] = []
    for view in views:
        title = Text(visible(view.name), style="bold").append(
            f"  score {view.score:+z.3f}", style="not bold"
        )
        if view.probability is not None:
            title.append(f"  probability {view.probability:.3f}", style="not bold")
        parts += [title, _colored_text(view), _ngram_table(view)]
    return Group(*parts)


def _colored_text(view: LabelView) -> Text:
    colored = Text()
    for character, share in zip(view.text, view.shares.tolist(), strict=True):
        colored.append(
            character if character in "\n\t" else visible(character), style=_style(share)
        )
    return colored


def _style(share: float) -> str:
    if abs(share) < _MIN_SHARE:
        return ""
    if abs(share) < _STRONG_SHARE:
        return _FOR if share > 0 else _AGAINST
    return _STRONGLY_FOR if share > 0 else _STRONGLY_AGAINST


def _ngram_table(view: LabelView) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for row in view.rows:
        name = Text(visible_ngram(row.ngram))
        for note in row.notes():
            name.append(f"  {note}", style="dim")
        bar = Text(
            "█" * round(_BAR * view.length(row)), style="blue" if row.value > 0 else "yellow"
        )
        table.add_row(f"{row.value:+z.3f}", bar, name)
    if view.n_more:
        table.add_row(
            f"{view.value_of_more:+z.3f}", "", Text(f"{view.n_more:,} more n-grams", style="dim")
        )
    table.add_row(f"{view.bias:+z.3f}", "", Text("bias", style="dim"))
    return table


_N_LEVELS = 12  # number of levels of each color
_MAX_OPACITY = 0.6  # keeps black and white text readable
_BLUE, _ORANGE = "30, 120, 220", "235, 120, 20"  # distinct for people with color blindness

# Text and background have the colors of the page, which may be light or dark.
_STYLE = f"""\
<style>
.hashnlp-explanation {{ max-width: 60em; line-height: 1.5; }}
.hashnlp-explanation summary {{ cursor: pointer; margin: 0.4em 0; }}
.hashnlp-explanation .text {{
    border: 1px solid rgba(128, 128, 128, 0.5); border-radius: 4px; overflow-wrap: anywhere;
    padding: 0.5em; unicode-bidi: isolate; white-space: pre-wrap; }}
.hashnlp-explanation .text span {{ border-radius: 2px; padding: 0.1em 0; }}
.hashnlp-explanation table {{ border-collapse: collapse; margin: 0.5em 0; }}
.hashnlp-explanation th, .hashnlp-explanation td {{
    background: none; border: none; color: inherit; padding: 0.1em 0.8em 0.1em 0;
    text-align: left; }}
.hashnlp-explanation .number {{
    font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }}
.hashnlp-explanation .ngram {{
    font-family: monospace; overflow-wrap: anywhere; white-space: pre-wrap; }}
.hashnlp-explanation .bar {{ display: inline-block; height: 0.8em; border-radius: 2px; }}
.hashnlp-explanation .for {{ background: rgba({_BLUE}, 0.8); }}
.hashnlp-explanation .against {{ background: rgba({_ORANGE}, 0.8); }}
.hashnlp-explanation .note {{ opacity: 0.75; }}
</style>"""
_MAX_BAR = 8.0  # em


def explanation_html(predicted: str, note: str, views: Sequence[LabelView]) -> str:
    """Return views of labels as HTML; the first one is open."""
    parts = [_label_html(view, is_open=index == 0) for index, view in enumerate(views)]
    head = f"<div>Predicted: <b>{_escaped(predicted)}</b></div>"
    head += f'<div class="note">{_escaped(note)}</div>' if note else ""
    return f'<div class="hashnlp-explanation">{_STYLE}{head}{"".join(parts)}</div>'


def _label_html(view: LabelView, *, is_open: bool) -> str:
    probability = "" if view.probability is None else f", probability {view.probability:.3f}"
    return (
        f"<details{' open' if is_open else ''}><summary><b>{_escaped(view.name)}</b>: score "
        f'{view.score:+z.3f}{probability}</summary><div class="text" dir="auto">'
        f"{_colored_html(view)}</div>{_table_html(view)}</details>"
    )


def _colored_html(view: LabelView) -> str:
    """Return the text with a background color for each run of characters of similar weight."""
    levels = np.rint(_N_LEVELS * view.shares).astype(int).tolist()
    parts = []
    for level, run in groupby(range(len(view.text)), key=levels.__getitem__):
        indices = list(run)
        characters = view.text[indices[0] : indices[-1] + 1]
        part = "".join(
            character if character in "\n\t" else _escaped(character) for character in characters
        )
        if level:
            color = _BLUE if level > 0 else _ORANGE
            opacity = _MAX_OPACITY * abs(level) / _N_LEVELS
            total = float(view.weights[indices].sum())
            style = f"background: rgba({color}, {opacity:.2f})"
            part = f'<span style="{style}" title="{total:+z.3f}">{part}</span>'
        parts.append(part)
    return "".join(parts)


def _table_html(view: LabelView) -> str:
    rows = []
    for row in view.rows:
        color, width = "for" if row.value > 0 else "against", _MAX_BAR * view.length(row)
        bar = f'<span class="bar {color}" style="width: {width:.2f}em"></span>'
        rows.append(_row(row.value, row.ngram, ", ".join(row.notes("“{}”")), bar))
    if view.n_more:
        rows.append(_row(view.value_of_more, None, f"{view.n_more:,} more n-grams"))
    rows.append(_row(view.bias, None, "bias: the score of a text without n-grams"))
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _row(value: float, ngram: str | None, note: str, bar: str = "") -> str:
    name = "" if ngram is None else f'<bdi class="ngram">{escape(visible_ngram(ngram))}</bdi> '
    cell = f'<td>{name}<span class="note">{_escaped(note)}</span></td>'
    return f'<tr><td class="number">{value:+z.3f}</td>{cell}<td>{bar}</td></tr>'


def _escaped(text: str) -> str:
    """Escape a short text for HTML, with visible control characters."""
    return escape(visible(text))
