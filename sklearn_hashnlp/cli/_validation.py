"""Figures on validation texts: after each epoch, and of the trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skorch.callbacks import Callback

from sklearn_hashnlp.training._early_stopping import EarlyStopping

PATIENCE = 10  # epochs, as in the classifiers


class ValidationScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Score validation texts after each epoch: the accuracy or, with several labels per text, the precision at 1."""

    def __init__(
        self,
        texts: list[str],
        labels: list[list[str]],
        classes: list[str],  # sorted, as the scores are
        *,
        stops_early: bool,
    ) -> None:
        self.texts = texts
        self.labels = labels
        self.classes = classes
        several = any(len(row) != 1 for row in labels)
        self.figure = "valid_precision_at_1" if several else "valid_acc"
        self.early_stopping = EarlyStopping(PATIENCE, self.figure) if stops_early else None

    def vectorize(self, features: Any) -> None:
        """Compute the rows of the texts, before training, by the steps of a pipeline before its classifier."""
        self._rows = features.transform(self.texts)
        self._scores: list[float] = []

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Record the figure in the history."""
        probabilities = net.criterion_.probabilities(net.score_rows(_dataset(net, self._rows)))
        self._scores.append(scores_at(self.labels, probabilities, np.array(self.classes), 1)["precision"])
        net.history.record(self.figure, self._scores[-1])

    def history_of(self, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a history with the figure of each epoch."""
        return [entry | {self.figure: score} for entry, score in zip(history, self._scores, strict=True)]


def held_out_figures(
    true: Sequence[Sequence[str]], probabilities: NDArray[np.float64], classes: NDArray[Any], *, several: bool
) -> dict[str, float]:
    """Compute the accuracy or, with several labels per text, precision and recall at 1."""
    figures = scores_at(true, probabilities, classes, 1)
    if several:
        return {f"{name}_at_1": value for name, value in figures.items()}
    return {"accuracy": figures["precision"]}


def scores_at(
    true: Sequence[Sequence[str]], probabilities: NDArray[np.float64], classes: NDArray[np.str_], k: int
) -> dict[str, float]:
    """Compute precision and recall of the k most probable labels, of the texts that have a label, as fastText does."""
    best = classes[(-probabilities).argsort(axis=1, kind="stable")[:, :k]].tolist()
    n_hits = sum(len(set(labels) & set(top)) for labels, top in zip(true, best, strict=True))
    n_texts, n_labels = sum(1 for labels in true if labels), sum(map(len, true))
    return {"precision": n_hits / (k * n_texts) if n_texts else 0.0, "recall": n_hits / n_labels if n_labels else 0.0}


def _dataset(net: Any, rows: Any) -> Any:
    """Return the rows as the data set that a net scores: sparse for hash embeddings, dense for SGNN."""
    if isinstance(rows, np.ndarray):
        from sklearn_hashnlp.classifiers._dense_rows import DenseDataset

        return DenseDataset(rows)
    from sklearn_hashnlp.classifiers._sparse_rows import SparseDataset, canonical_rows

    return SparseDataset(canonical_rows(rows, any_scale=net.module_.bag.normalize is not None))
