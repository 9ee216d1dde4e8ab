"""The axes and the figure that a display draws into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def axes_and_figure(ax: Axes | None, options: Mapping[str, Any] | None = None) -> tuple[Axes, Figure]:
    """Return axes and their figure; for None those of a new pyplot figure, made with some options."""
    if ax is None:
        from matplotlib import pyplot  # it has global state, which programs with their own axes do not need

        _, ax = pyplot.subplots(**(options or {}))
    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax, figure
