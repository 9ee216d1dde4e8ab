"""Plot of the accuracy of models against their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.plotting._axes import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    from sklearn_hashnlp.classifiers.tuning._result import TuningResult


class SizeAccuracyDisplay(Display):
    """Plot of the accuracy of models against their size in bytes, with the Pareto front.

    A model is on the front if no smaller model is as good. Pass the same axes to draw several sets of models into one
    plot.

    Parameters
    ----------
    sizes : array-like of shape (n_models,)
        Sizes of the models in bytes, above 0.
    scores : array-like of shape (n_models,)
        Accuracies, or other scores that are higher for better models.
    max_size : float, default=None
        Maximum size in bytes, drawn as a vertical line.
    reference : (float, float), default=None
        Size and score of a model to compare with, such as the default parameters.
    name : str, default=None
        Name of the models in the legend.
    score_name : str, default="accuracy"
        Label of the y axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    points_ : matplotlib PathCollection
        The models.
    line_ : matplotlib Line2D
        The Pareto front.
    reference_ : matplotlib Line2D or None
        The model to compare with.

    See Also
    --------
    sklearn_hashnlp.classifiers.tune_text_classifier : Search for small and accurate models.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import SizeAccuracyDisplay
    >>> display = SizeAccuracyDisplay(
    ...     [20_000, 30_000, 80_000], [0.8, 0.7, 0.9]
    ... ).plot(ax=Figure().subplots())
    >>> display.front().tolist()
    [0, 2]
    """

    points_: PathCollection
    line_: Line2D
    reference_: Line2D | None

    def __init__(
        self,
        sizes: ArrayLike,
        scores: ArrayLike,
        *,
        max_size: float | None = None,
        reference: tuple[float, float] | None = None,
        name: str | None = None,
        score_name: str = "accuracy",
    ) -> None:
        self.sizes = np.asarray(sizes, dtype=np.float64)
        self.scores = np.asarray(scores, dtype=np.float64)
        self.max_size = max_size
        self.reference = reference
        self.name = name
        self.score_name = score_name

    @classmethod
    def from_tuning_result(
        cls,
        result: TuningResult,
        *,
        name: str | None = None,
        score_name: str = "accuracy",
        ax: Axes | None = None,
    ) -> SizeAccuracyDisplay:
        """Draw the models of a search by :func:`~sklearn_hashnlp.classifiers.tune_text_classifier`.

        The models are the complete trials, with tables of float32 and of int8. The first trial, the parameters of the
        estimator as they are, is the model to compare with. The other parameters are as for the class and :meth:`plot`.
        """
        models = result.models
        first = next((model for model in models if model.number == 0), None)
        display = cls(
            [model.size for model in models],
            [model.score for model in models],
            max_size=result.max_size,
            reference=None if first is None else (first.size, first.score),
            name=name,
            score_name=score_name,
        )
        return display.plot(ax=ax)

    def front(self) -> NDArray[np.int64]:
        """Return the indices of the models on the Pareto front by ascending size, int64 of shape (n_front,)."""
        from sklearn_hashnlp.classifiers.tuning._result import pareto_front

        return pareto_front(self.sizes, self.scores)

    def plot(self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None) -> SizeAccuracyDisplay:
        """Draw into ``ax`` (by default a new figure); ``line_kw`` are properties of the front for ``ax.plot``."""
        if self.sizes.ndim != 1 or self.sizes.shape != self.scores.shape or not len(self.sizes):
            raise ValueError(
                f"SizeAccuracyDisplay needs a score for each size, and at least one, got sizes of shape "
                f"{self.sizes.shape} and scores of shape {self.scores.shape}."
            )
        if not (self.sizes > 0).all():
            raise ValueError(f"SizeAccuracyDisplay needs sizes above 0, got {self.sizes.min()}.")
        if not np.isfinite(self.scores).all():
            raise ValueError("SizeAccuracyDisplay needs finite scores, got NaN or infinity.")
        from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, PercentFormatter

        ax, in_bytes = self._take_axes(ax), EngFormatter("B")
        ax.set_xscale("log")
        front = self.front()
        label = self.name or "no smaller model is as good"
        curve: dict[str, Any] = {"drawstyle": "steps-post", "marker": "o", "markersize": 5, "label": label}
        (self.line_,) = ax.plot(self.sizes[front], self.scores[front], **curve | (line_kw or {}))
        self.points_ = ax.scatter(self.sizes, self.scores, s=12, alpha=0.5, color=self.line_.get_color())
        self.reference_ = None
        if self.reference is not None:
            style: dict[str, Any] = {"marker": "*", "markersize": 13, "linestyle": "none", "color": "black"}
            (self.reference_,) = ax.plot(*self.reference, label="default parameters", **style)
        if self.max_size is not None:
            limit = in_bytes(float(f"{self.max_size:.3g}"))
            ax.axvline(self.max_size, color="gray", linestyle=":", label=f"limit: {limit}")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(in_bytes)
        ax.xaxis.set_minor_formatter(NullFormatter())
        if ((self.scores >= 0) & (self.scores <= 1)).all():
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel("size of the saved model")
        ax.set_ylabel(self.score_name)
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return self
