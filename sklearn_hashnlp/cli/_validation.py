"""Figures on validation texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def known_texts(
    texts: list[str], labels: Sequence[list[str]], known: Collection[str], *, multilabel: bool
) -> tuple[list[str], list[Any]] | None:
    """Return texts that a training can score after each epoch, and their labels; None if there are none."""
    if multilabel:
        return texts, [[label for label in row if label in known] for row in labels]
    rows = [index for index, row in enumerate(labels) if len(row) == 1 and row[0] in known]
    return ([texts[row] for row in rows], [labels[row][0] for row in rows]) if rows else None


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
