"""How many words collide in a hash embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class CollisionDisplay:
    """Collisions against the number of words: what is expected, what was counted, and what bounds them.

    Several hash embeddings stand in one picture when each is drawn on the same axes. Both scales are logarithmic; a
    count of zero, or the lower end of an interval there, is cut off.

    Parameters
    ----------
    n_words : array-like of shape (n_points,)
        Different words, V, ascending.
    expected : array-like of shape (n_points,)
        What the formula gives: pairs, or shares of words.
    counted : array-like of shape (n_points,), default=None
        The same from a simulation.
    intervals : array-like of shape (n_points, 2), default=None
        Lower and upper ends of confidence intervals of ``counted``.
    bound : array-like of shape (n_points,), default=None
        An upper bound.
    name : str, default=None
        Name of the hash embedding, for the legend.
    quantity : str, default="colliding pairs"
        What is counted, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        What is expected.
    points_ : matplotlib Line2D or None
        What was counted, its intervals beside it.
    bound_ : matplotlib Line2D or None
        The bound, dashed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import CollisionDisplay
    >>> display = CollisionDisplay([100, 1000], [5, 500], [4, 510], [[1, 10], [470, 556]], name="B = 1000")
    >>> display.plot(ax=Figure().subplots()).ax_.get_yscale()
    'log'
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D
    points_: Line2D | None
    bound_: Line2D | None

    def __init__(
        self,
        n_words: ArrayLike,
        expected: ArrayLike,
        counted: ArrayLike | None = None,
        intervals: ArrayLike | None = None,
        bound: ArrayLike | None = None,
        *,
        name: str | None = None,
        quantity: str = "colliding pairs",
    ) -> None:
        self.n_words = np.asarray(n_words, dtype=np.float64)
        self.expected = np.asarray(expected, dtype=np.float64)
        self.counted = None if counted is None else np.asarray(counted, dtype=np.float64)
        self.intervals = None if intervals is None else np.asarray(intervals, dtype=np.float64)
        self.bound = None if bound is None else np.asarray(bound, dtype=np.float64)
        self.name = name
        self.quantity = quantity

    def plot(self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None) -> CollisionDisplay:
        """Draw lines and points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw, beside what is there; by default on a new pyplot figure.
        line_kw : dict, default=None
            Properties of the line of what is expected, such as ``color``, as ``ax.plot`` takes them. Points and bound
            have its colour.

        Returns
        -------
        CollisionDisplay
            This display.

        Raises
        ------
        ValueError
            If there is not one value, or one interval, for each number of words, or there are intervals and no counts.
        """
        self._check()
        if ax is None:
            from matplotlib import pyplot  # kept out of programs that bring their own axes: it has global state

            _, ax = pyplot.subplots()
        figure = ax.get_figure(root=True)
        assert figure is not None
        self.ax_, self.figure_, self.points_, self.bound_ = ax, figure, None, None
        ax.set_xscale("log")
        ax.set_yscale("log", nonpositive="clip")
        (self.line_,) = ax.plot(self.n_words, self.expected, **{"label": self.name} | (line_kw or {}))
        kinds = ["line: expected"]
        colour = self.line_.get_color()
        if self.counted is not None:
            spread = None if self.intervals is None else np.abs(self.intervals.T - self.counted)
            style: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 2, "color": colour}
            self.points_ = ax.errorbar(self.n_words, self.counted, yerr=spread, **style).lines[0]
            kinds.append("points: counted")
        if self.bound is not None:
            (self.bound_,) = ax.plot(self.n_words, self.bound, color=colour, linestyle="--")
            kinds.append("dashed: upper bound")
        ax.set_xlabel("different words")
        ax.set_ylabel(f"{self.quantity}\n({', '.join(kinds)})")
        ax.grid(alpha=0.3)
        if self.name is not None:
            ax.legend(frameon=False, fontsize="small")
        return self

    def _check(self) -> None:
        if self.intervals is not None and self.counted is None:
            raise ValueError("CollisionDisplay was given intervals without the counts that they belong to.")
        points = (len(self.n_words),)
        wanted = {"expected": points, "counted": points, "intervals": (*points, 2), "bound": points}
        for name, shape in wanted.items():
            values = getattr(self, name)
            if values is not None and values.shape != shape:
                raise ValueError(
                    f"CollisionDisplay wants {name} of shape {shape}, as there are {len(self.n_words)} numbers of "
                    f"words; it has {values.shape}."
                )
