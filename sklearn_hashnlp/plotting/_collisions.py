"""Plot of colliding words in a hash embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.plotting._axes import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class CollisionDisplay(Display):
    """Plot of expected and counted collisions against the number of words, with an upper bound.

    Pass the same axes to draw several hash embeddings into one plot. Both axes are logarithmic; zeros are clipped.

    Parameters
    ----------
    n_words : array-like of shape (n_points,)
        Numbers of distinct words, V, in ascending order.
    expected : array-like of shape (n_points,)
        Expected numbers of pairs, or expected shares of words.
    counted : array-like of shape (n_points,), default=None
        Counts in a simulation.
    intervals : array-like of shape (n_points, 2), default=None
        Confidence intervals of ``counted``.
    bound : array-like of shape (n_points,), default=None
        Upper bounds.
    name : str, default=None
        Name of the hash embedding in the legend.
    quantity : str, default="colliding pairs"
        Label of the y axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    line_, points_, bound_ : matplotlib Line2D
        The expected values, the counts and the upper bounds; None if they are not given.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import CollisionDisplay
    >>> display = CollisionDisplay(
    ...     [100, 1000],
    ...     [5, 500],
    ...     [4, 510],
    ...     [[1, 10], [470, 556]],
    ...     name="B = 1000",
    ... )
    >>> display.plot(ax=Figure().subplots()).ax_.get_yscale()
    'log'
    """

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

    @classmethod
    def from_report(
        cls, report: Any, *, kind: str = "embedding", name: str | None = None, ax: Axes | None = None
    ) -> CollisionDisplay:
        """Draw the expected and counted collisions of n-grams of texts, for increasing numbers of n-grams.

        Parameters
        ----------
        report : CollisionReport
            The result of :func:`~sklearn_hashnlp.inspection.collision_report`.
        kind : {"column", "importance weights", "components", "embedding"}, default="embedding"
            Kind of collisions; without hash embeddings only ``"column"``.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default a new pyplot figure.

        Returns
        -------
        CollisionDisplay
        """
        curve = report.curve(kind)
        return cls(
            [n_ngrams for n_ngrams, _ in curve],
            [row.expected_pairs for _, row in curve],
            [row.counted_pairs for _, row in curve],
            name=name,
        ).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None) -> CollisionDisplay:
        """Draw into ``ax`` (by default a new figure); ``line_kw`` are properties of the line for ``ax.plot``."""
        if self.intervals is not None and self.counted is None:
            raise ValueError("CollisionDisplay needs counts for its intervals: pass counted as well.")
        points = (len(self.n_words),)
        shapes = {"expected": points, "counted": points, "intervals": (*points, 2), "bound": points}
        for name, shape in shapes.items():
            values = getattr(self, name)
            if values is not None and values.shape != shape:
                raise ValueError(
                    f"CollisionDisplay needs {name} of shape {shape}, because n_words has {len(self.n_words)} values; "
                    f"got shape {values.shape}."
                )
        ax = self._take_axes(ax)
        self.points_ = self.bound_ = None
        ax.set_xscale("log")
        ax.set_yscale("log", nonpositive="clip")
        (self.line_,) = ax.plot(self.n_words, self.expected, **{"label": self.name} | (line_kw or {}))
        kinds = ["line: expected"]
        color = self.line_.get_color()
        if self.counted is not None:
            errors = None if self.intervals is None else np.abs(self.intervals.T - self.counted)
            style: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 2, "color": color}
            self.points_ = ax.errorbar(self.n_words, self.counted, yerr=errors, **style).lines[0]
            kinds.append("points: counted")
        if self.bound is not None:
            (self.bound_,) = ax.plot(self.n_words, self.bound, color=color, linestyle="--")
            kinds.append("dashed: upper bound")
        ax.set_xlabel("number of distinct words")
        ax.set_ylabel(f"{self.quantity}\n({', '.join(kinds)})")
        ax.grid(alpha=0.3)
        if self.name is not None:
            ax.legend(frameon=False, fontsize="small")
        return self
