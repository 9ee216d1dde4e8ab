"""Reliability diagram of predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.plotting._axes import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_ROUNDING = 1e-6  # rounding error of float32 sums


class ReliabilityDisplay(Display):
    """Reliability diagram: accuracy against the predicted label's probability, for any classes.

    The legend shows the expected calibration error (ECE): the mean distance of the points from the
    diagonal, weighted by their shares of the samples [1]_. Pass the same axes to draw several
    classifiers into one plot.

    Parameters
    ----------
    confidences : array-like of shape (n_samples,)
        Probabilities of the predicted labels, from 0 to 1.
    correct : array-like of shape (n_samples,)
        Whether each predicted label is correct.
    n_bins : int, default=15
        Number of bins of equal width that the probabilities are divided into.
    name : str, default=None
        Name of the classifier in the legend.

    Attributes
    ----------
    ece : float
        Expected calibration error.
    mean_confidences, accuracies, counts : ndarray of shape (n_bins,)
        Mean probability, accuracy and number of samples of each bin; NaN and 0 for empty bins.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    line_ : matplotlib Line2D
        A point for each bin that is not empty.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : Calibration curve of one class, for binary
        classification.

    References
    ----------
    .. [1] Guo, Pleiss, Sun & Weinberger (2017). On calibration of modern neural networks. ICML,
           section 2.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import ReliabilityDisplay
    >>> display = ReliabilityDisplay(
    ...     [0.9, 0.9, 0.6, 0.6], [True, True, True, False], name="model"
    ... )
    >>> display = display.plot(ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['calibrated', 'model (ECE 0.100)']
    """

    line_: Line2D

    def __init__(
        self,
        confidences: ArrayLike,
        correct: ArrayLike,
        *,
        n_bins: int = 15,
        name: str | None = None,
    ) -> None:
        confidence, is_correct = (
            np.asarray(confidences, dtype=np.float64),
            np.asarray(correct, dtype=np.float64),
        )
        if confidence.ndim != 1 or confidence.shape != is_correct.shape or len(confidence) == 0:
            raise ValueError(
                "ReliabilityDisplay needs a probability and a bool for each of at least one "
                f"sample, got arrays of shape {confidence.shape} and {is_correct.shape}."
            )
        if not ((confidence >= 0) & (confidence <= 1 + _ROUNDING)).all():  # NaN is neither
            raise ValueError(
                f"ReliabilityDisplay needs probabilities from 0 to 1, got {confidence.min()} to "
                f"{confidence.max()}."
            )
        bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
        self.counts: NDArray[np.int64] = np.bincount(bins, minlength=n_bins)
        with np.errstate(invalid="ignore"):
            self.mean_confidences = np.bincount(bins, confidence, n_bins) / self.counts
            self.accuracies = np.bincount(bins, is_correct, n_bins) / self.counts
        gaps = np.nan_to_num(np.abs(self.accuracies - self.mean_confidences))
        self.ece = float((gaps * self.counts).sum() / len(confidence))
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = 15,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Plot a fitted classifier with ``predict_proba`` for test samples ``X`` and labels ``y``.

        The other parameters are as in :meth:`from_predictions`; the default ``name`` is the class
        of the estimator.
        """
        name = name or type(estimator).__name__
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            n_bins=n_bins,
            name=name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 15,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw the plot of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_proba : array-like of shape (n_samples, n_classes)
            Probabilities of all classes.
        classes : array-like of shape (n_classes,), default=None
            Labels of the columns of ``y_proba``; by default the sorted labels of ``y_true``.
        n_bins : int, default=15
            Number of bins.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default a new pyplot figure.

        Returns
        -------
        ReliabilityDisplay
        """
        labels, proba = np.asarray(y_true), np.asarray(y_proba, dtype=np.float64)
        names = np.unique(labels) if classes is None else np.asarray(classes)
        if proba.shape != (len(labels), len(names)) or labels.ndim != 1:
            raise ValueError(
                f"ReliabilityDisplay needs one label and {len(names)} probabilities per sample, "
                f"one per class, got labels of shape {labels.shape} and probabilities of shape "
                f"{proba.shape}."
            )
        correct = names[proba.argmax(axis=1)] == labels
        return cls(proba.max(axis=1), correct, n_bins=n_bins, name=name).plot(ax=ax)

    def plot(
        self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None
    ) -> ReliabilityDisplay:
        """Draw into ``ax`` or a new figure; ``line_kw`` are line properties for ``ax.plot``."""
        ax = self._take_axes(ax)
        if not ax.lines:
            ax.plot([0, 1], [0, 1], linestyle=":", color="gray", label="calibrated")
        label = f"{self.name} (ECE {self.ece:.3f})" if self.name else f"ECE {self.ece:.3f}"
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": label} | (line_kw or {})
        filled = self.counts > 0
        (self.line_,) = ax.plot(self.mean_confidences[filled], self.accuracies[filled], **style)
        ax.set_xlabel("probability of the predicted label")
        ax.set_ylabel("accuracy")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return self
