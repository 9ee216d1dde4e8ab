"""How a text classifier bears typing errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score

from sklearn_hashnlp.text import distort_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

RATES = (0.0, 0.02, 0.05, 0.1, 0.2)


class RobustnessDisplay:
    """Accuracy of a text classifier against the rate of typing errors in the texts.

    Use :meth:`from_estimator` to measure and draw one curve; :meth:`plot` draws it again elsewhere. Several classifiers
    stand in one picture when each is drawn on the same axes.

    Parameters
    ----------
    rates : array-like of shape (n_rates,)
        Edits a character.
    accuracies : array-like of shape (n_rates, n_repeats)
        Share of right labels at each rate, once for each repetition.
    name : str, default=None
        Name of the classifier, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curve is drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The curve: the mean of the repetitions. The band around it is one standard deviation to each side.

    See Also
    --------
    sklearn_hashnlp.text.distort_texts : Makes the errors.
    sklearn_hashnlp.classifiers.AugmentedTextClassifier : Trains a classifier on them as well.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import RobustnessDisplay
    >>> ax = Figure().subplots()
    >>> display = RobustnessDisplay([0, 0.1], [[0.9, 0.9], [0.7, 0.8]], name="words").plot(ax=ax)
    >>> display = RobustnessDisplay([0, 0.1], [[0.9, 0.9], [0.8, 0.9]], name="characters").plot(ax=ax)
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('edits a character', ['words', 'characters'])
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D

    def __init__(self, rates: ArrayLike, accuracies: ArrayLike, *, name: str | None = None) -> None:
        self.rates = np.asarray(rates, dtype=np.float64)
        self.accuracies = np.asarray(accuracies, dtype=np.float64)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        rates: Sequence[float] = RATES,
        n_repeats: int = 3,
        random_state: int = 0,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> RobustnessDisplay:
        """Measure a fitted classifier on distorted texts, and draw its curve.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier that takes strings.
        X : iterable of str
            Texts that it has not seen.
        y : array-like of shape (n_texts,)
            Their labels.
        rates : sequence of float, default=(0.0, 0.02, 0.05, 0.1, 0.2)
            Edits a character, each from 0 to 1.
        n_repeats : int, default=3
            How often the texts are distorted, with other errors each time.
        random_state : int, default=0
            Seed of the errors; the next repetition has the next seed.
        name : str, default=None
            Name for the legend; by default the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw; by default on a new pyplot figure.

        Returns
        -------
        RobustnessDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a rate is not from 0 to 1, and what the estimator raises.
        """
        texts = list(X)
        accuracies = [
            [
                accuracy_score(y, estimator.predict(distort_texts(texts, rate, random_state=random_state + repeat)))
                for repeat in range(n_repeats)
            ]
            for rate in rates
        ]
        return cls(rates, accuracies, name=name or type(estimator).__name__).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None) -> RobustnessDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw, beside what is there; by default on a new pyplot figure.
        line_kw : dict, default=None
            Properties of the line, such as ``color`` and ``linestyle``, as ``ax.plot`` takes them.

        Returns
        -------
        RobustnessDisplay
            This display.

        Raises
        ------
        ValueError
            If there is not one row of accuracies for each rate.
        """
        if self.accuracies.ndim != 2 or len(self.accuracies) != len(self.rates):
            raise ValueError(
                "RobustnessDisplay wants a row of accuracies for each rate and a column for each repetition, but for "
                f"{len(self.rates)} rates an array of shape {self.accuracies.shape} came."
            )
        if ax is None:
            from matplotlib import pyplot  # kept out of programs that bring their own axes: it has global state

            _, ax = pyplot.subplots()
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        figure = ax.get_figure(root=True)
        assert figure is not None
        self.ax_, self.figure_ = ax, figure
        mean, spread = self.accuracies.mean(axis=1), self.accuracies.std(axis=1)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": self.name} | (line_kw or {})
        (self.line_,) = ax.plot(self.rates, mean, **style)
        ax.fill_between(self.rates, mean - spread, mean + spread, color=self.line_.get_color(), alpha=0.15, linewidth=0)
        ax.set_xlabel("edits a character")
        ax.set_ylabel("accuracy")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(alpha=0.3)
        if self.name is not None:
            ax.legend(frameon=False)
        return self
