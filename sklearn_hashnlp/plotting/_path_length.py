"""Plot of the path lengths of a softmax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.plotting._axes import Display
from sklearn_hashnlp.trees import SoftmaxTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class PathLengthDisplay(Display):
    """Plot of the lengths of the paths from the root of a softmax tree to its classes.

    A point of the curve is the share of the classes, weighted by their counts, that need at most that many decisions,
    the cost of a hierarchical softmax. Pass the same axes to draw several trees into one plot.

    Parameters
    ----------
    lengths : array-like of shape (n_classes,)
        Number of decisions on the path to each class.
    weights : array-like of shape (n_classes,), default=None
        Counts of the classes; None weighs them equally.
    name : str, default=None
        Name of the tree in the legend.

    Attributes
    ----------
    mean : float
        Mean length, weighted.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    line_ : matplotlib Line2D

    See Also
    --------
    sklearn_hashnlp.trees.SoftmaxTree.depth_statistics : Statistics of the path lengths.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import PathLengthDisplay
    >>> from sklearn_hashnlp.trees import balanced_tree, huffman_tree
    >>> counts, ax = [8, 4, 2, 1, 1], Figure().subplots()
    >>> display = PathLengthDisplay.from_tree(
    ...     balanced_tree(5), counts, name="balanced", ax=ax
    ... )
    >>> display = PathLengthDisplay.from_tree(
    ...     huffman_tree(counts), counts, name="Huffman", ax=ax
    ... )
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['balanced (mean 2.8)', 'Huffman (mean 1.9)']
    """

    line_: Line2D

    def __init__(self, lengths: ArrayLike, weights: ArrayLike | None = None, *, name: str | None = None) -> None:
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.weights = np.ones(self.lengths.shape) if weights is None else np.asarray(weights, dtype=np.float64)
        if self.lengths.ndim != 1 or self.weights.shape != self.lengths.shape or not len(self.lengths):
            raise ValueError(
                "PathLengthDisplay needs the length of at least one path, and a weight for each or none, got arrays of "
                f"shape {self.lengths.shape} and {self.weights.shape}."
            )
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all() or not self.weights.any():
            raise ValueError("PathLengthDisplay needs weights of 0 or more, not all of them 0.")
        self.mean = float(np.average(self.lengths, weights=self.weights))
        self.name = name

    @classmethod
    def from_tree(
        cls, tree: SoftmaxTree, counts: ArrayLike | None = None, *, name: str | None = None, ax: Axes | None = None
    ) -> PathLengthDisplay:
        """Draw the path lengths of a tree, weighted by ``counts`` of its classes; ``name`` is for the legend."""
        return cls(tree.depths, counts, name=name).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None) -> PathLengthDisplay:
        """Draw into ``ax`` (by default a new figure); ``line_kw`` are properties of the curve for ``ax.step``."""
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        ax = self._take_axes(ax)
        shares = np.cumsum(np.bincount(self.lengths, self.weights)) / self.weights.sum()
        label = f"{self.name} (mean {self.mean:.1f})" if self.name else f"mean {self.mean:.1f}"
        style: dict[str, Any] = {"where": "post", "label": label} | (line_kw or {})
        (self.line_,) = ax.step(np.arange(len(shares)), shares, **style)
        ax.set_xlabel("decisions on the path to a class")
        ax.set_ylabel("share that is reached")
        ax.set_ylim(0, 1.05)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return self
