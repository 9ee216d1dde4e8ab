"""Scores of predicted labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def compute_metrics(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, multilabel: bool
) -> dict[str, Any]:
    """Compute the metrics of predicted sets of labels, and for one label per text the confusion matrix."""
    # Not by scikit-learn's functions, which take an indicator matrix of one label for labels of another kind.
    pairs = [(set(one), set(other)) for one, other in zip(true, predicted, strict=True)]
    expected = Counter(label for one, _ in pairs for label in one)
    returned = Counter(label for _, other in pairs for label in other)
    hits = Counter(label for one, other in pairs for label in one & other)
    labels = {
        name: {
            "precision": hits[name] / max(returned[name], 1),
            "recall": hits[name] / max(expected[name], 1),
            "f1": 2 * hits[name] / (returned[name] + expected[name]),
            "support": expected[name],
        }
        for name in sorted(expected | returned)
    }
    report = {
        "accuracy": sum(one == other for one, other in pairs) / len(pairs),
        "n_texts": len(pairs),
        "macro_f1": sum(scores["f1"] for scores in labels.values()) / max(len(labels), 1),
        "labels": labels,
    }
    if multilabel:
        report["n_labeled"] = sum(1 for one, _ in pairs if one)
        report["micro_f1"] = 2 * hits.total() / max(returned.total() + expected.total(), 1)
    else:
        cells = Counter((one, other) for (one,), (other,) in zip(true, predicted, strict=True))
        counts = [[cells[one, other] for other in labels] for one in labels]
        report["confusion_matrix"] = {"labels": [*labels], "counts": counts}
    return report
