"""How training went, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRAIN_COLOUR = "#4c72b0"
_VALID_COLOUR = "#dd8452"
_ACCURACY_COLOUR = "#2f7d4f"


class TrainingHistoryDisplay:
    """Losses and validation accuracy over the epochs of training.

    Use :meth:`from_estimator` to make and draw one; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    history : sequence of mappings
        One mapping per epoch with ``train_loss`` and, where there was a validation set, ``valid_loss`` and
        ``valid_acc``. Other keys are passed over.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the losses are drawn.
    accuracy_ax_ : matplotlib Axes or None
        Where the accuracy is drawn, on the right-hand scale of the same plot; None without validation.
    figure_ : matplotlib Figure
        The figure of both.

    See Also
    --------
    sklearn.metrics.ConfusionMatrixDisplay : Which labels are taken for which.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import TrainingHistoryDisplay
    >>> history = [
    ...     {"train_loss": 1.1, "valid_loss": 1.0, "valid_acc": 0.6, "dur": 0.2},
    ...     {"train_loss": 0.7, "valid_loss": 0.8, "valid_acc": 0.8, "dur": 0.2},
    ... ]
    >>> display = TrainingHistoryDisplay(history).plot(ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'epoch'
    """

    ax_: Axes
    accuracy_ax_: Axes | None
    figure_: Figure

    def __init__(self, history: Sequence[Mapping[str, Any]]) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> TrainingHistoryDisplay:
        """Draw the training of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with the attribute ``history_``, or a pipeline that ends in one.
        ax : matplotlib Axes, default=None
            Where to draw; by default on a new pyplot figure.

        Returns
        -------
        TrainingHistoryDisplay
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator was not fitted.
        ValueError
            If the estimator keeps no history of epochs.
        """
        check_is_fitted(estimator)
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        history = getattr(estimator, "history_", None)
        if not history:
            raise ValueError(
                f"Expected an estimator with epochs in its attribute history_, such as HashEmbeddingClassifier; "
                f"{type(estimator).__name__} has {'none' if history is None else 'an empty one'}."
            )
        return cls(history).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> TrainingHistoryDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default on a new pyplot figure.

        Returns
        -------
        TrainingHistoryDisplay
            This display.
        """
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            from matplotlib import pyplot  # kept out of programs that bring their own axes: it has global state

            _, ax = pyplot.subplots()
        figure = ax.get_figure(root=True)
        assert figure is not None
        self.ax_, self.figure_, self.accuracy_ax_ = ax, figure, None
        style = {"marker": "o", "markersize": 4}
        lines = self._draw(ax, "train_loss", "training loss", color=_TRAIN_COLOUR, **style)
        lines += self._draw(ax, "valid_loss", "validation loss", color=_VALID_COLOUR, **style)
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="y", alpha=0.3)
        if any("valid_acc" in epoch for epoch in self.history):
            self.accuracy_ax_ = ax.twinx()
            lines += self._draw(
                self.accuracy_ax_, "valid_acc", "validation accuracy", color=_ACCURACY_COLOUR, linestyle="--", **style
            )
            self.accuracy_ax_.set_ylabel("accuracy", color=_ACCURACY_COLOUR)
            self.accuracy_ax_.tick_params(axis="y", colors=_ACCURACY_COLOUR)
            self.accuracy_ax_.set_ylim(0, 1)
        # Below the plot no curve can run through it.
        ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)
        return self

    def _draw(self, ax: Axes, key: str, label: str, **style: Any) -> list[Any]:
        points = [(number, epoch[key]) for number, epoch in enumerate(self.history, start=1) if key in epoch]
        return ax.plot(*zip(*points, strict=True), label=label, **style) if points else []
