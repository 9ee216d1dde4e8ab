"""The axes and the figure of a display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def axes_and_figure(ax: Axes | None, options: Mapping[str, Any] | None = None) -> tuple[Axes, Figure]:
    """Return axes and their figure; None creates a new pyplot figure with the given options."""
    if ax is None:
        from matplotlib import pyplot  # only if needed, since it has global state

        _, ax = pyplot.subplots(**(options or {}))
    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax, figure
