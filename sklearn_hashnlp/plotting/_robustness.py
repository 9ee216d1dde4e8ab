"""Plot of the robustness of a text classifier to typing errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score

from sklearn_hashnlp.plotting._axes import Display
from sklearn_hashnlp.text import distort_texts
from sklearn_hashnlp.text._documents import as_documents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

RATES = (0.0, 0.02, 0.05, 0.1, 0.2)


class RobustnessDisplay(Display):
    """Plot of the accuracy of a text classifier against the rate of typing errors in the texts.

    Pass the same axes to draw several classifiers into one plot.

    Parameters
    ----------
    rates : array-like of shape (n_rates,)
        Edits per character.
    accuracies : array-like of shape (n_rates, n_repeats)
        Accuracy at each rate in each repetition.
    name : str, default=None
        Name of the classifier in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, matplotlib Figure
    line_ : matplotlib Line2D
        Mean over the repetitions. The band around it is one standard deviation wide on each side.

    See Also
    --------
    sklearn_hashnlp.text.distort_texts : Add typing errors to texts.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import RobustnessDisplay
    >>> ax = Figure().subplots()
    >>> display = RobustnessDisplay(
    ...     [0, 0.1], [[0.9, 0.9], [0.7, 0.8]], name="words"
    ... ).plot(ax=ax)
    >>> display = RobustnessDisplay(
    ...     [0, 0.1], [[0.9, 0.9], [0.8, 0.9]], name="characters"
    ... ).plot(ax=ax)
    >>> texts = ax.get_legend().get_texts()
    >>> ax.get_xlabel(), [text.get_text() for text in texts]
    ('edits per character', ['words', 'characters'])
    """

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
        """Measure the accuracy of a fitted classifier on distorted texts, and draw the plot.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier of strings.
        X : iterable of str
            Test texts.
        y : array-like of shape (n_texts,)
            Labels of the texts.
        rates : sequence of float, default=(0.0, 0.02, 0.05, 0.1, 0.2)
            Edits per character, each from 0 to 1.
        n_repeats : int, default=3
            Number of distortions of the texts with different errors.
        random_state : int, default=0
            Seed of the errors in the first repetition; each repetition adds 1.
        name : str, default=None
            Name in the legend; by default the class of the estimator.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default a new pyplot figure.

        Returns
        -------
        RobustnessDisplay
        """
        texts = list(as_documents(X, caller=cls.__name__))
        accuracies = [
            [
                accuracy_score(
                    y,
                    estimator.predict(
                        distort_texts(texts, rate, random_state=random_state + repeat)
                    ),
                )
                for repeat in range(n_repeats)
            ]
            for rate in rates
        ]
        return cls(rates, accuracies, name=name or type(estimator).__name__).plot(ax=ax)

    def plot(
        self, *, ax: Axes | None = None, line_kw: dict[str, Any] | None = None
    ) -> RobustnessDisplay:
        """Draw into ``ax`` or a new figure; ``line_kw`` are line properties for ``ax.plot``."""
        if self.accuracies.ndim != 2 or len(self.accuracies) != len(self.rates):
            raise ValueError(
                "RobustnessDisplay needs a row of accuracies for each rate and a column for each "
                f"repetition, but for {len(self.rates)} rates it got an array of shape "
                f"{self.accuracies.shape}."
            )
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        ax = self._take_axes(ax)
        mean, deviation = self.accuracies.mean(axis=1), self.accuracies.std(axis=1)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": self.name} | (
            line_kw or {}
        )
        (self.line_,) = ax.plot(self.rates, mean, **style)
        ax.fill_between(
            self.rates,
            mean - deviation,
            mean + deviation,
            color=self.line_.get_color(),
            alpha=0.15,
            linewidth=0,
        )
        ax.set_xlabel("edits per character")
        ax.set_ylabel("accuracy")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(alpha=0.3)
        if self.name is not None:
            ax.legend(frameon=False)
        return self
