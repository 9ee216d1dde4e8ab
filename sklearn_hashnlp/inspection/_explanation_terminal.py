"""An explanation on a terminal: the text with colors, and a table of n-grams."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sklearn_hashnlp.inspection._aligned_text import visible, visible_ngram
from sklearn_hashnlp.inspection._label_view import LabelView

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
        title = Text(visible(view.name), style="bold").append(f"  score {view.score:+z.3f}", style="not bold")
        if view.probability is not None:
            title.append(f"  probability {view.probability:.3f}", style="not bold")
        parts += [title, _colored(view), _table(view)]
    return Group(*parts)


def _colored(view: LabelView) -> Text:
    colored = Text()
    for character, share in zip(view.text, view.shares.tolist(), strict=True):
        colored.append(character if character in "\n\t" else visible(character), style=_style(share))
    return colored


def _style(share: float) -> str:
    if abs(share) < _MIN_SHARE:
        return ""
    if abs(share) < _STRONG_SHARE:
        return _FOR if share > 0 else _AGAINST
    return _STRONGLY_FOR if share > 0 else _STRONGLY_AGAINST


def _table(view: LabelView) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for row in view.rows:
        name = Text(visible_ngram(row.ngram))
        if row.kind:
            name.append(f"  {row.kind}", style="dim")
        if row.n_times > 1:
            name.append(f"  {row.n_times} times", style="dim")
        if row.shared_with:
            name.append(f"  in one column with {', '.join(map(visible_ngram, row.shared_with))}", style="dim")
        bar = Text("█" * round(_BAR * view.length(row)), style="blue" if row.value > 0 else "yellow")
        table.add_row(f"{row.value:+z.3f}", bar, name)
    if view.n_more:
        table.add_row(f"{view.value_of_more:+z.3f}", "", Text(f"{view.n_more:,} more n-grams", style="dim"))
    table.add_row(f"{view.bias:+z.3f}", "", Text("bias", style="dim"))
    return table
