"""Plot of the accuracies of several settings over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = ("training (under n-gram dropout)", "test")
_COLORS = ("#4c72b0", "#dd8452")


class AccuracyDistributionDisplay:
    """Plot of training and test accuracies side by side, with one row per setting and one point per seed.

    Each row has a box from the first to the third quartile with the median, and whiskers to the extreme values.

    Parameters
    ----------
    accuracies : mapping of str to (sequence of float, sequence of float)
        Training accuracies and test accuracies of each setting, one per seed, by the name of the setting.
    titles : (str, str), default=("training (under n-gram dropout)", "test")
        Titles of both axes.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        Axes of the training and of the test accuracies. The first setting is on top.
    figure_ : matplotlib Figure
        Figure of both axes.

    References
    ----------
    Y. Dubois, Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings, section "Accuracy distribution", which has
    violin plots.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from benchmarks.recipes.accuracy_distribution_display import AccuracyDistributionDisplay
    >>> accuracies = {"hash": ([0.93, 0.94, 0.93], [0.91, 0.92, 0.91]), "standard": ([0.97, 0.96], [0.90, 0.91])}
    >>> display = AccuracyDistributionDisplay(accuracies).plot(figure=Figure())
    >>> [label.get_text() for label in display.axes_[0].get_yticklabels()]
    ['hash', 'standard']
    """

    axes_: tuple[Axes, Axes]
    figure_: Figure

    def __init__(
        self, accuracies: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, titles: tuple[str, str] = _TITLES
    ) -> None:
        self.accuracies = accuracies
        self.titles = titles

    def plot(self, *, figure: Figure | None = None) -> AccuracyDistributionDisplay:
        """Draw the plot.

        Parameters
        ----------
        figure : matplotlib Figure, default=None
            Empty figure to draw into; by default a new pyplot figure.

        Returns
        -------
        AccuracyDistributionDisplay
            This display.

        Raises
        ------
        ValueError
            If there are no settings, or one has no accuracies.
        """
        if not self.accuracies:
            raise ValueError("AccuracyDistributionDisplay needs at least one setting, got none.")
        for name, halves in self.accuracies.items():
            if len(halves) != 2 or any(len(values) == 0 for values in halves):
                raise ValueError(
                    "AccuracyDistributionDisplay needs training accuracies and test accuracies of each setting, at "
                    f"least one of each; got {halves!r} for {name!r}."
                )
        if figure is None:
            from matplotlib import (
                pyplot,
            )  # imported here because pyplot has global state, which programs with their own figure do not need

            figure = pyplot.figure(figsize=(9, 1.2 + 0.5 * len(self.accuracies)), layout="constrained")
        self.figure_ = figure
        self.axes_ = tuple(figure.subplots(1, 2, sharey=True))
        for half, (ax, title, color) in enumerate(zip(self.axes_, self.titles, _COLORS, strict=True)):
            values = [np.asarray(halves[half], dtype=np.float64) for halves in self.accuracies.values()]
            self._draw(ax, values, color)
            ax.set_title(title)
        names = list(self.accuracies)
        self.axes_[0].set_yticks(range(len(names)), names)
        self.axes_[0].invert_yaxis()
        return self

    def _draw(self, ax: Axes, values: Sequence[Any], color: str) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        # Not by `boxplot`: its parameter for horizontal boxes was renamed between versions of matplotlib.
        for row, points in enumerate(values):
            minimum, low, median, high, maximum = np.quantile(points, (0, 0.25, 0.5, 0.75, 1))
            ax.barh(row, high - low, left=low, height=0.5, facecolor="none", edgecolor="0.6")
            ax.hlines([row, row], [minimum, high], [low, maximum], color="0.6")
            ax.vlines(median, row - 0.25, row + 0.25, color=color, linewidth=2)
            # Points in the order of the seeds from top to bottom, so that equal accuracies do not overlap.
            heights = row + np.linspace(-0.18, 0.18, len(points)) if len(points) > 1 else [row]
            ax.plot(points, heights, linestyle="", marker="o", markersize=4, alpha=0.7, color=color)
        # Boxes have sticky edges: without a margin, a point at the edge of the only box would be cut.
        ax.use_sticky_edges = False
        ax.autoscale_view()
        ax.set_xlabel("accuracy")
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(axis="x", alpha=0.3)
