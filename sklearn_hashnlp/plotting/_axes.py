"""The base class of displays: their axes and their figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """A plot of values in the axes of a figure."""

    ax_: Axes
    figure_: Figure

    def _take_axes(self, ax: Axes | None, **options: Any) -> Axes:
        """Set and return the axes; None creates a new pyplot figure with the given options."""
        if ax is None:
            from matplotlib import pyplot  # only if needed, since it has global state

            _, ax = pyplot.subplots(**options)
        figure = ax.get_figure(root=True)
        assert figure is not None
        self.ax_, self.figure_ = ax, figure
        return ax
