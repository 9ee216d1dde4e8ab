"""Figures on validation texts: after each epoch, and of the trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback

from sklearn_hashnlp.training._early_stopping import EarlyStopping

PATIENCE = 10  # epochs, as in the classifiers


class ValidationScores(Callback):  # type: ignore[misc]  # skorch has no types
    """Score validation texts after each epoch: the accuracy or, with several labels per text, loss and precision at 1.

    Early stopping depends on the accuracy or the loss: the precision of the first label is high long before the others.
    """

    def __init__(
        self,
        texts: list[str],
        labels: list[list[str]],
        classes: list[str],  # sorted, as the scores are
        *,
        several: bool,  # whether the texts of training have several labels
        stops_early: bool,
    ) -> None:
        self.texts = texts
        self.labels = labels
        self.classes = np.array(classes)
        self.has_loss = several
        self.several = several or any(len(row) != 1 for row in labels)  # also of the validation texts alone
        self._precision = "valid_precision_at_1" if self.several else "valid_acc"
        monitor = "valid_loss" if self.has_loss else self._precision
        self.early_stopping = EarlyStopping(PATIENCE, monitor) if stops_early else None

    def vectorize(self, features: Any) -> None:
        """Compute the rows of the texts, before training, by the steps of a pipeline before its classifier."""
        self._rows = features.transform(self.texts)
        known = [np.isin(self.classes, labels) for labels in self.labels]  # a label that is unknown has no score
        self._targets = torch.from_numpy(np.array(known, dtype=np.float64))
        self._figures: list[dict[str, float]] = []

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Record the figures in the history."""
        scores = net.score_rows(_dataset(net, self._rows))
        precision = scores_at(self.labels, net.criterion_.probabilities(scores), self.classes, 1)["precision"]
        figures = {self._precision: precision}
        if self.has_loss:
            figures["valid_loss"] = float(net.criterion_(torch.from_numpy(scores), self._targets).mean())
        for name, value in figures.items():
            net.history.record(name, value)
        self._figures.append(figures)

    def history_of(self, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a history with the figures of each epoch."""
        return [entry | figures for entry, figures in zip(history, self._figures, strict=True)]


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
        from sklearn_hashnlp.classifiers.sgnn._dense_rows import DenseDataset

        return DenseDataset(rows)
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows, canonical_rows

    return SparseRows(canonical_rows(rows, any_scale=net.module_.bag.normalize is not None))
