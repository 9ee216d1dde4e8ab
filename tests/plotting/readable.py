"""A check that every text of a figure can be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text


def texts_of(figure: Figure) -> Iterator[Text]:
    """Yield all texts that a drawn figure shows."""
    legends = [
        *figure.legends,
        *(legend for ax in figure.axes if (legend := ax.get_legend()) is not None),
    ]
    texts = [*figure.texts, *(text for legend in legends for text in legend.get_texts())]
    # matplotlib has no public name for its artist
    if figure._suptitle is not None:  # type: ignore[attr-defined]
        texts.append(figure._suptitle)  # type: ignore[attr-defined]
    for ax in figure.axes:
        texts += [ax.title, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [
                axis.label,
                *(label for tick in ticks for label in (tick.label1, tick.label2)),
            ]
    yield from (
        text for text in dict.fromkeys(texts) if text.get_visible() and text.get_text().strip()
    )


def assert_readable(figure: Figure) -> None:
    """Check that no text of a figure leaves it, and that no two of them overlap."""
    FigureCanvasAgg(figure).draw()
    boxes = {text: text.get_window_extent() for text in texts_of(figure)}
    assert len(boxes) > 1
    for text, box in boxes.items():
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
    for (one, box), (other, other_box) in combinations(boxes.items(), 2):
        slanted = {round(text.get_rotation()) % 90 for text in (one, other)} != {0}
        # boxes of slanted texts overlap where these do not
        assert slanted or not box.overlaps(other_box), (one, other)
