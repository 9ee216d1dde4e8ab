"""Plot of the training history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.plotting._axes import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRAIN_COLOR = "#4c72b0"
_VALID_COLOR = "#dd8452"
_ACCURACY_COLOR = "#2f7d4f"
# height of the axes relative to the largest loss and an accuracy of 1, for the legend
_HEADROOM = 1.25


class TrainingHistoryDisplay(Display):
    """Plot of losses and validation accuracy over the epochs of training.

    Parameters
    ----------
    history : sequence of mappings
        One mapping per epoch with ``train_loss`` and, with a validation set, ``valid_loss`` and
        ``valid_acc``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the losses.
    accuracy_ax_ : matplotlib Axes or None
        Axes of the accuracy, with its scale on the right; None without a validation set.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import TrainingHistoryDisplay
    >>> history = [
    ...     {"train_loss": 1.1, "valid_loss": 1.0, "valid_acc": 0.6},
    ...     {"train_loss": 0.7, "valid_loss": 0.8, "valid_acc": 0.8},
    ... ]
    >>> display = TrainingHistoryDisplay(history).plot(ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'epoch'
    """

    accuracy_ax_: Axes | None

    def __init__(self, history: Sequence[Mapping[str, Any]]) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> TrainingHistoryDisplay:
        """Draw the ``history_`` of a fitted estimator or pipeline into ``ax`` or a new figure."""
        check_is_fitted(estimator)
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        history = getattr(estimator, "history_", None)
        if not history:
            raise ValueError(
                "Expected an estimator with epochs in its attribute history_, such as "
                f"HashEmbeddingClassifier; {type(estimator).__name__} has "
                f"{'none' if history is None else 'an empty one'}."
            )
        return cls(history).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> TrainingHistoryDisplay:
        """Draw into ``ax``, by default a new figure."""
        from matplotlib.ticker import FixedLocator, MaxNLocator

        if not any("train_loss" in epoch for epoch in self.history):
            raise ValueError(
                "There is nothing to draw: the history has no losses of epochs. Dual coordinate "
                "descent, which trains text classifiers on few texts, records none; solver='sgd' "
                "does."
            )
        ax = self._take_axes(ax, layout="constrained")
        self.accuracy_ax_ = None
        style = {"marker": "o", "markersize": 4}
        lines = self._draw(ax, "train_loss", "training loss", color=_TRAIN_COLOR, **style)
        lines += self._draw(ax, "valid_loss", "validation loss", color=_VALID_COLOR, **style)
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        losses = [
            float(epoch[key])
            for epoch in self.history
            for key in ("train_loss", "valid_loss")
            if key in epoch
        ]
        ax.set_ylim(
            0, _HEADROOM * max((loss for loss in losses if 0 < loss < math.inf), default=1.0)
        )
        ax.set_xlim(0.5, len(self.history) + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.grid(axis="y", alpha=0.3)
        if any("valid_acc" in epoch for epoch in self.history):
            self.accuracy_ax_ = ax.twinx()
            lines += self._draw(
                self.accuracy_ax_,
                "valid_acc",
                "validation accuracy",
                color=_ACCURACY_COLOR,
                linestyle="--",
                **style,
            )
            self.accuracy_ax_.set_ylabel("accuracy", color=_ACCURACY_COLOR)
            self.accuracy_ax_.tick_params(axis="y", colors=_ACCURACY_COLOR)
            self.accuracy_ax_.set_ylim(0, _HEADROOM)
            self.accuracy_ax_.yaxis.set_major_locator(FixedLocator([0, 0.2, 0.4, 0.6, 0.8, 1]))
        # Inside the axes, so that it is not cut off, and above all curves.
        ax.legend(
            handles=lines,
            loc="upper center",
            ncols=2,
            frameon=False,
            fontsize="small",
            columnspacing=1,
        )
        return self

    def _draw(self, ax: Axes, key: str, label: str, **style: Any) -> list[Any]:
        points = [
            (number, epoch[key])
            for number, epoch in enumerate(self.history, start=1)
            if key in epoch
        ]
        return ax.plot(*zip(*points, strict=True), label=label, **style) if points else []
