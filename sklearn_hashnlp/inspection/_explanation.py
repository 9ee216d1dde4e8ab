"""Explanation: the prediction for a text as a sum over its n-grams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.inspection._aligned_text import Span, visible_ngram
from sklearn_hashnlp.inspection._explanation_views import (
    LabelView,
    NgramRow,
    explanation_html,
    explanation_table,
    label_name,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sklearn_hashnlp.inspection._text_columns import Feature

Method: TypeAlias = Literal["linear", "integrated gradients"]

MAX_SHOWN_LABELS = 3
_TOP = 10


class Explanation:
    """The prediction for a text as a sum of contributions of its n-grams.

    The result of :func:`explain`. In a notebook it is displayed as the text with colors and a
    table. ``print`` and ``rich.print`` show it on a terminal.

    Attributes
    ----------
    text : str
        The text.
    classes : ndarray of shape (n_classes,)
        All labels of the model.
    labels : ndarray of shape (n_labels,)
        The explained labels: the columns of ``contributions``. With two classes there is one score,
        which is positive for the second class and negative for the first.
    predicted : label or list of labels
        The predicted label, or for multilabel models all predicted labels.
    scores : ndarray of shape (n_labels,)
        The scores, as in ``decision_function`` of the model.
    probabilities : ndarray of shape (n_labels,) or None
        The probabilities of ``labels``; None if the model has no ``predict_proba``.
    bias : ndarray of shape (n_labels,)
        The scores of a text without n-grams. ``bias + contributions.sum(axis=0)`` are the scores.
    contributions : ndarray of shape (n_ngrams, n_labels)
        The contribution of each n-gram to the scores, summed over its occurrences.
    ngrams : list of str of length n_ngrams
        The n-grams as the vectorizer counts them. ``<s>`` and ``</s>`` are the start and the end of
        the text. A column with unknown n-grams is called ``column`` and its index; the columns of a
        pretrained model are one entry.
    kinds : list of str of length n_ngrams
        The part of a union that counts the n-gram, such as ``"words"`` and ``"characters"``;
        otherwise ``""``.
    columns : ndarray of shape (n_ngrams,), dtype int64
        The column of each n-gram; -1 for the columns of a pretrained model.
    spans : list of list of (int, int) of length n_ngrams
        The positions of each n-gram in the text: ``text[begin:end]`` for each occurrence, without
        the spaces around words. Occurrences with unknown positions, such as from a custom analyzer,
        are excluded.
    counts : ndarray of shape (n_ngrams,), dtype int64
        The number of occurrences of each n-gram.
    shared_with : list of tuple of str of length n_ngrams
        The other n-grams of the text in the same column, among which its value is divided.
    method : {"linear", "integrated gradients"}
        How the contributions were computed.

    See Also
    --------
    explain : Explain the prediction for a text.
    """

    def __init__(
        self,
        *,
        text: str,
        classes: NDArray[Any],
        labels: NDArray[Any],
        predicted: Any,
        scores: NDArray[np.float64],
        probabilities: NDArray[np.float64] | None,
        bias: NDArray[np.float64],
        features: Sequence[Feature],
        contributions: NDArray[np.float64],
        method: Method,
    ) -> None:
        self.text = text
        self.classes = classes
        self.labels = labels
        self.predicted = predicted
        self.scores = scores
        self.probabilities = probabilities
        self.bias = bias
        self.contributions = contributions
        self.method = method
        self.ngrams = [feature.ngram for feature in features]
        self.kinds = [feature.kind for feature in features]
        self.columns = np.array([feature.column for feature in features], dtype=np.int64)
        self.spans: list[list[Span]] = [
            [span for span in feature.spans if span is not None] for feature in features
        ]
        self.counts = np.array([len(feature.spans) for feature in features], dtype=np.int64)
        self.shared_with = _shared_with(features)

    def top(self, n: int = _TOP, label: Any = None) -> list[tuple[str, float]]:
        """Return the n-grams with the largest contributions, positive or negative.

        Parameters
        ----------
        n : int, default=10
            Maximum number of n-grams.
        label : label, default=None
            The label; None is the predicted one or, if it is not explained, the label with the
            highest score.

        Returns
        -------
        list of (str, float)
            n-grams and their contributions to the score of the label, by descending magnitude.
        """
        values = self.contributions_to(label)
        order = np.argsort(-np.abs(values), kind="stable")[:n].tolist()
        return [(self.ngrams[index], float(values[index])) for index in order]

    def contributions_to(self, label: Any = None) -> NDArray[np.float64]:
        """Return contributions (n_ngrams,) to the score of a label, by default the predicted one.

        With two classes the contributions to the first class are those to the second with the
        opposite sign.
        """
        index, sign = self._output(label)
        return sign * self.contributions[:, index]

    def character_weights(self, label: Any = None) -> NDArray[np.float64]:
        """Return each character's contribution to a label's score, by default the predicted one's.

        The contribution of an n-gram is divided equally among its occurrences, and then among its
        characters. Contributions without a position in the text, such as the bias, are excluded.
        """
        steps = np.zeros(len(self.text) + 1)
        for spans, count, value in zip(
            self.spans, self.counts, self.contributions_to(label), strict=True
        ):
            for begin, end in spans:
                share = value / count / (end - begin)
                steps[begin] += share
                steps[end] -= share
        return np.cumsum(steps)[:-1]

    def to_dict(self, n: int | None = None, labels: Iterable[Any] | None = None) -> dict[str, Any]:
        """Return the explanation as values for :mod:`json`.

        Parameters
        ----------
        n : int, default=None
            Maximum number of n-grams per label; None is all.
        labels : iterable of labels, default=None
            The labels; None is all explained labels.

        Returns
        -------
        dict
            ``"text"``, ``"predicted"``, ``"method"``, and in ``"labels"`` for each label its
            ``"score"``, ``"probability"``, ``"bias"`` and ``"ngrams"``, by descending magnitude.
        """
        return {
            "text": self.text,
            "predicted": self.predicted,
            "method": self.method,
            "labels": [
                self._label_to_dict(label, n) for label in _several(labels, self.labels.tolist())
            ],
        }

    def _label_to_dict(self, label: Any, n: int | None) -> dict[str, Any]:
        values = self.contributions_to(label)
        order = np.argsort(-np.abs(values), kind="stable")[:n].tolist()
        view = self._view(label, 0)
        return {
            "label": label,
            "score": view.score,
            "probability": view.probability,
            "bias": view.bias,
            "ngrams": [
                {
                    "ngram": self.ngrams[at],
                    "kind": self.kinds[at],
                    "column": int(self.columns[at]),
                    "contribution": float(values[at]),
                    "spans": [list(span) for span in self.spans[at]],
                    "shared_with": list(self.shared_with[at]),
                }
                for at in order
            ],
        }

    def _view(self, label: Any, n: int) -> LabelView:
        """Return the content of the views of a label."""
        index, sign = self._output(label)
        values = self.contributions_to(label)
        order = np.argsort(-np.abs(values), kind="stable")
        probability = None if self.probabilities is None else float(self.probabilities[index])
        has_kinds = len({kind for kind in self.kinds if kind}) > 1
        return LabelView(
            name=label_name(label),
            score=sign * float(self.scores[index]),
            probability=1 - probability if probability is not None and sign < 0 else probability,
            bias=sign * float(self.bias[index]),
            text=self.text,
            weights=self.character_weights(label),
            rows=[
                NgramRow(
                    value=float(values[at]),
                    ngram=self.ngrams[at],
                    kind=self.kinds[at] if has_kinds else "",
                    n_times=int(self.counts[at]),
                    shared_with=self.shared_with[at],
                )
                for at in order[:n].tolist()
            ],
            n_more=len(order[n:]),
            value_of_more=float(values[order[n:]].sum()),
        )

    def shown_labels(self) -> list[Any]:
        """Return up to three labels for views: predicted ones, then the ones with highest scores.

        With two classes, only the predicted one.
        """
        predicted = self.predicted if isinstance(self.predicted, list) else [self.predicted]
        if self._is_binary:
            return predicted
        labels = self.labels.tolist()
        best = [labels[index] for index in np.argsort(-self.scores, kind="stable").tolist()]
        first = [label for label in best if label in predicted]
        return (first + [label for label in best if label not in first])[:MAX_SHOWN_LABELS]

    @property
    def _is_binary(self) -> bool:
        return (
            len(self.classes) == 2 and len(self.bias) == 1 and not isinstance(self.predicted, list)
        )

    def _output(self, label: Any) -> tuple[int, float]:
        """Return the column of a label, and the sign of its contributions."""
        if label is None:
            label = self.shown_labels()[0]
        if self._is_binary and label == self.classes[0]:
            return 0, -1.0
        labels = self.labels.tolist()
        if label not in labels:
            known = self.classes.tolist() if self._is_binary else labels
            raise ValueError(
                f"This explanation is of the labels {shortened(known)}; got {label!r}."
            )
        return labels.index(label), 1.0

    def to_html(self, labels: Iterable[Any] | None = None, n: int = _TOP) -> str:
        """Return a ``div`` element: colored text and tables of n-grams, for light and dark pages.

        It has no scripts and no references to other files; the text and the labels are escaped.

        Parameters
        ----------
        labels : iterable of labels, default=None
            The labels to show; None is at most three: the predicted ones, and the labels with the
            highest scores.
        n : int, default=10
            Maximum number of n-grams in a table.
        """
        views = [self._view(label, n) for label in _several(labels, self.shown_labels())]
        note = "" if self.method == "linear" else "Integrated gradients."
        return explanation_html(label_name(self.predicted), note, views)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_rich(self, labels: Iterable[Any] | None = None, n: int = _TOP) -> RenderableType:
        """Return a renderable of rich: colored text, and a table of ``n`` n-grams for each label.

        ``labels`` are by default the predicted one.
        """
        return explanation_table(
            [self._view(label, n) for label in _several(labels, self.shown_labels()[:1])]
        )

    def __rich__(self) -> RenderableType:
        return self.to_rich()

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 40 else f"{self.text[:37]}..."
        return f"<Explanation of {text!r}: {self.predicted!r}, {len(self.ngrams)} n-grams>"

    def __str__(self) -> str:
        label = self.shown_labels()[0]
        view = self._view(label, _TOP)
        lines = [
            f"{row.value:+z10.4f}  {visible_ngram(row.ngram)}{row.kind and f'  ({row.kind})'}"
            for row in view.rows
        ]
        lines += (
            [f"{view.value_of_more:+z10.4f}  {view.n_more} more n-grams"] if view.n_more else []
        )
        lines += [f"{view.bias:+z10.4f}  bias", f"{view.score:+z10.4f}  score of {label!r}"]
        return "\n".join(lines)


def _several(labels: Iterable[Any] | None, default: list[Any]) -> list[Any]:
    """Return the given labels, or the default."""
    if labels is None:
        return default
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise TypeError(
            f"labels must be several labels or None, got {labels!r}. For one: labels=[{labels!r}]."
        )
    return list(labels)


def _shared_with(features: Sequence[Feature]) -> list[tuple[str, ...]]:
    """Return the other n-grams in the same column for each feature."""
    of_column: dict[int, list[int]] = {}
    for index, feature in enumerate(features):
        of_column.setdefault(feature.column, []).append(index)
    return [
        tuple(features[other].ngram for other in of_column[feature.column] if other != index)
        for index, feature in enumerate(features)
    ]


def shortened(labels: Iterable[Any]) -> str:
    """Format labels for a message."""
    shown = [repr(label) for label in labels]
    return (
        ", ".join(shown)
        if len(shown) <= 10
        else f"{', '.join(shown[:10])} and {len(shown) - 10} more"
    )
