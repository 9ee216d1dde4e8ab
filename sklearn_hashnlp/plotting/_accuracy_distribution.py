"""How accurate several settings are over several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = ("training (under n-gram dropout)", "test")
_COLOURS = ("#4c72b0", "#dd8452")


class AccuracyDistributionDisplay:
    """Training and test accuracies side by side, a row a setting and a point a seed.

    Each row has a box from the first to the third quartile with the median in it, and whiskers to the farthest values.

    Parameters
    ----------
    accuracies : mapping of str to (sequence of float, sequence of float)
        By the name of a setting, its training accuracies and its test accuracies, one a seed.
    titles : (str, str), default=("training (under n-gram dropout)", "test")
        What stands above both.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        Where training and test accuracies are drawn. The first setting is the uppermost.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    After the pictures of Y. Dubois, Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings, section "Accuracy
    distribution", which are violins.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import AccuracyDistributionDisplay
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
        """Draw both halves.

        Parameters
        ----------
        figure : matplotlib Figure, default=None
            An empty one to draw into; by default a new pyplot figure.

        Returns
        -------
        AccuracyDistributionDisplay
            This display.

        Raises
        ------
        ValueError
            If there is no setting, or one has no accuracies.
        """
        if not self.accuracies:
            raise ValueError("AccuracyDistributionDisplay wants at least one setting, got none.")
        for name, halves in self.accuracies.items():
            if len(halves) != 2 or any(len(values) == 0 for values in halves):
                raise ValueError(
                    "AccuracyDistributionDisplay wants training accuracies and test accuracies of each setting, at "
                    f"least one of each; for {name!r} it has {halves!r}."
                )
        if figure is None:
            from matplotlib import pyplot  # kept out of programs that bring their own figure: it has global state

            figure = pyplot.figure(figsize=(9, 1.2 + 0.5 * len(self.accuracies)), layout="constrained")
        self.figure_ = figure
        self.axes_ = tuple(figure.subplots(1, 2, sharey=True))
        for half, (ax, title, colour) in enumerate(zip(self.axes_, self.titles, _COLOURS, strict=True)):
            values = [np.asarray(halves[half], dtype=np.float64) for halves in self.accuracies.values()]
            self._draw(ax, values, colour)
            ax.set_title(title)
        names = list(self.accuracies)
        self.axes_[0].set_yticks(range(len(names)), names)
        self.axes_[0].invert_yaxis()
        return self

    def _draw(self, ax: Axes, values: Sequence[Any], colour: str) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        # By hand: the parameter of `boxplot` that makes boxes lie has another name in each other matplotlib.
        for row, points in enumerate(values):
            least, low, middle, high, most = np.quantile(points, (0, 0.25, 0.5, 0.75, 1))
            ax.barh(row, high - low, left=low, height=0.5, facecolor="none", edgecolor="0.6")
            ax.hlines([row, row], [least, high], [low, most], color="0.6")
            ax.vlines(middle, row - 0.25, row + 0.25, color=colour, linewidth=2)
            # Seeds in their order from top to bottom of the box, so that equal accuracies are all seen.
            heights = row + np.linspace(-0.18, 0.18, len(points)) if len(points) > 1 else [row]
            ax.plot(points, heights, linestyle="", marker="o", markersize=4, alpha=0.7, color=colour)
        ax.set_xlabel("accuracy")
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(axis="x", alpha=0.3)
