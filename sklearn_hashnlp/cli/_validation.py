"""Figures on validation texts: after each epoch, and of the trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class ValidationTexts:
    """Texts that are scored after each epoch: by accuracy or, with multiple labels, by loss and precision at 1."""

    def __init__(self, texts: list[str], labels: list[list[str]], classes: list[str], *, multilabel: bool) -> None:
        self.texts = texts
        self.labels = labels
        self.classes = np.array(sorted(classes))  # as the columns of scores
        self.multilabel = multilabel or any(len(row) != 1 for row in labels)  # also of the validation texts alone
        self.precision = "valid_precision_at_1" if self.multilabel else "valid_acc"
        # The precision of the first label is high long before the others.
        self.monitor = "valid_loss" if multilabel else self.precision

    def with_features(self, features: Any) -> Self:
        """Set the steps before the classifier, which are fitted when training starts."""
        self._features = features
        self._rows = None
        return self

    def figures(self, net: Any) -> dict[str, float]:
        """Compute the figures of a net."""
        if self._rows is None:
            self._rows = _dataset(net, self._features.transform(self.texts))
        scores = net.score_rows(self._rows)
        precision = scores_at(self.labels, net.criterion_.probabilities(scores), self.classes, 1)["precision"]
        if self.monitor != "valid_loss":
            return {self.precision: precision}
        import torch

        known = [np.isin(self.classes, labels) for labels in self.labels]  # a label that is unknown has no score
        targets = torch.from_numpy(np.array(known, dtype=np.float64))
        loss = float(net.criterion_(torch.from_numpy(scores), targets).mean())
        return {self.precision: precision, "valid_loss": loss}


def held_out_figures(
    true: Sequence[Sequence[str]], probabilities: NDArray[np.float64], classes: NDArray[Any], *, multilabel: bool
) -> dict[str, float]:
    """Compute the accuracy or, with multiple labels per text, precision and recall at 1."""
    figures = scores_at(true, probabilities, classes, 1)
    if multilabel:
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
        from sklearn_hashnlp.classifiers.sgnn._dense_net import DenseDataset

        return DenseDataset(rows)
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows, canonical_rows

    return SparseRows(canonical_rows(rows, any_scale=net.module_.bag.normalize is not None))
