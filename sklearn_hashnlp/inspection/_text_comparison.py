"""TextComparison: new texts beside the training texts of a classifier, and their views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.inspection._aligned_text import visible, visible_ngram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_LABELS = 10
_SMALLEST_P = 1e-4
# The names of measures
UNKNOWN_TEXTS, UNKNOWN_NGRAMS = "unknown texts", "unknown n-grams"
UNKNOWN_NGRAM = "unknown n-gram of most texts"
ROW_LENGTH, LARGEST_PROBABILITY = "row length", "largest probability"


class Measure(NamedTuple):
    """One number of training texts and of new texts, with the p-value of their difference."""

    name: str
    training: float
    new: float
    p_value: float  # corrected for the number of measures

    def formatted(self) -> tuple[str, str, str, str]:
        """Return the fields as text: shares as percentages, the row length as a number."""
        pattern = "{:.2f}" if self.name == ROW_LENGTH else "{:.1%}"
        p_value = f"{self.p_value:.4f}" if self.p_value >= _SMALLEST_P else f"< {_SMALLEST_P:.4f}"
        return self.name, pattern.format(self.training), pattern.format(self.new), p_value


@dataclass(frozen=True, eq=False)
class TextComparison:
    """New texts beside the training texts of a classifier: whether they differ, and in what.

    The result of :func:`compare_texts`. ``print`` shows a table, as does a notebook.

    Attributes
    ----------
    alarm : bool
        Whether the texts differ: a p-value is below ``level``.
    measures : list of (str, float, float, float)
        Name, value in training, value now, and p-value, corrected for the number of measures:
        ``"unknown texts"``, the share of the texts without a known n-gram; ``"unknown n-grams"``,
        the mean share of a text's n-grams, the columns of a pretrained model counting as known;
        ``"unknown n-gram of most texts"``, the share of the texts that have it, beside the share to
        expect without drift; ``"row length"``, the mean length of the rows of known n-grams, which
        is what the texts say; ``"label ..."``, the share of the label with the smallest p-value;
        ``"largest probability"``, its mean. Multilabel models have no measures of probabilities.
    label_shares : dict of label to (float, float)
        The expected share of the texts with this label, the mean of its probability, in training
        and now; empty for multilabel models.
    unknown_ngrams : list of (str, int)
        At most ten n-grams that the model does not know, with the number of new texts that have
        them.
    advice : str
        What to do next.
    level : float
        The probability of a false alarm.
    n_texts, n_training_texts : int
        Number of new texts and of training texts that they are compared with.
    cumulative : dict of str to ndarray of shape (2, 21)
        Cumulative shares of the training texts and of the new texts, from the smallest value to the
        largest: what :meth:`plot` draws.

    See Also
    --------
    compare_texts : Compare texts with those of the training.
    """

    alarm: bool
    measures: list[Measure]
    label_shares: dict[Any, tuple[float, float]]
    unknown_ngrams: list[tuple[str, int]]
    advice: str
    level: float
    n_texts: int
    n_training_texts: int
    cumulative: dict[str, NDArray[np.float64]]

    @classmethod
    def of(
        cls,
        measures: list[Measure],
        *,
        level: float,
        n_texts: int,
        summary: TrainingSummary,
        label_shares: dict[Any, tuple[float, float]],
        unknown_ngrams: list[tuple[str, int]],
        cumulative: dict[str, NDArray[np.float64]],
    ) -> Self:
        """Decide on the alarm and the advice."""
        differing = [measure for measure in measures if measure.p_value < level]
        return cls(
            alarm=bool(differing),
            measures=measures,
            label_shares=label_shares,
            unknown_ngrams=unknown_ngrams,
            advice=_advice(differing),
            level=level,
            n_texts=n_texts,
            n_training_texts=summary.n_rows,
            cumulative=cumulative,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values for :mod:`json`, without ``cumulative``.

        Returns
        -------
        dict
            The attributes by their names; a dict for each measure.
        """
        return {
            "alarm": self.alarm,
            "measures": [measure._asdict() for measure in self.measures],
            "label_shares": {
                str(label): list(shares) for label, shares in self.label_shares.items()
            },
            "unknown_ngrams": [list(pair) for pair in self.unknown_ngrams],
            "advice": self.advice,
            "level": self.level,
            "n_texts": self.n_texts,
            "n_training_texts": self.n_training_texts,
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the cumulative shares of new texts against those of training texts.

        The values are the share of unknown n-grams, the row length and the largest probability.
        Texts like those of the training are on the diagonal; above it values are smaller now.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default a new pyplot figure.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot  # only if needed, since it has global state

            _, ax = pyplot.subplots()
        ax.plot([0, 1], [0, 1], linestyle=":", color="gray", label="no difference")
        for name, (training, new) in self.cumulative.items():
            ax.plot(training, new, marker="o", markersize=3, label=name)
        ax.set_xlabel("share of the training texts, smallest values first")
        ax.set_ylabel("share of the new texts")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        return f"<TextComparison of {self.n_texts:,} texts: alarm={self.alarm}>"

    def __str__(self) -> str:
        head = ("", "training", "now", "p-value")
        rows = [head, *(measure.formatted() for measure in self.measures)]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = [
            "  ".join([visible(row[0]).ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        parts = [self._headline(), *lines]
        if self.unknown_ngrams:
            ngrams = ", ".join(f"{visible_ngram(name)} ({n})" for name, n in self.unknown_ngrams)
            parts.append(f"Unknown n-grams of most texts: {ngrams}")
        return "\n".join([*parts, self.advice])

    def _headline(self) -> str:
        found = "The texts differ from" if self.alarm else "No difference was found to"
        return (
            f"{found} those of the training "
            f"({self.n_texts:,} new texts, {self.n_training_texts:,} of the training)."
        )

    def _repr_html_(self) -> str:
        head = "<tr><th></th><th>training</th><th>now</th><th>p-value</th></tr>"
        body = "".join(_row(measure.formatted()) for measure in self.measures)
        most = sorted(self.label_shares.items(), key=lambda item: -max(item[1]))[:_MAX_LABELS]
        labels = "".join(
            _row((f"label {label}", f"{before:.1%}", f"{now:.1%}", ""))
            for label, (before, now) in most
        )
        ngrams = ", ".join(
            f"<bdi>{escape(visible_ngram(name))}</bdi> ({n})" for name, n in self.unknown_ngrams
        )
        unknown = f"<p>Unknown n-grams of most texts: {ngrams}</p>" if ngrams else ""
        return (
            f"<div><p><b>{escape(self._headline())}</b></p><table>{head}{body}</table>{unknown}"
            f"<p>{escape(self.advice)}</p><details><summary>Expected shares of labels</summary>"
            f"<table>{labels}</table></details></div>"
        )


def _row(cells: Sequence[str]) -> str:
    name, *others = (escape(visible(cell)) for cell in cells)
    return f"<tr><td>{name}</td>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"


def _advice(differing: list[Measure]) -> str:
    """Return what to do about the measure with the smallest p-value."""
    if not differing:
        return "Nothing to do: if there is a difference, it is too small for so many texts."
    worst = min(differing, key=lambda measure: measure.p_value)
    if worst.name in (UNKNOWN_TEXTS, UNKNOWN_NGRAMS, UNKNOWN_NGRAM):
        if worst.new < worst.training:
            return (
                "More of the n-grams are known than of training texts: look whether the texts are "
                "cut, copies of training texts, or of one source."
            )
        return (
            "Look at the texts with the unknown n-grams: are they in another language, misspelled "
            "or of a new topic? Label some of them and call partial_fit, for a new label with "
            "classes=[*model.classes_, 'new'], or fit again."
        )
    if worst.name == ROW_LENGTH:
        more = "more" if worst.new > worst.training else "less"
        return (
            f"The texts say {more} than those of the training: look whether they are cut, joined "
            "or of another source, and train on texts like them."
        )
    if worst.name == LARGEST_PROBABILITY:
        return (
            "The model is less certain than in training: label some of the texts with the smallest "
            "probability, and call partial_fit or fit again."
        )
    return (
        f"The {visible(worst.name)} has another share than in training: label some texts "
        "to see whether their topics or the errors have changed."
    )
