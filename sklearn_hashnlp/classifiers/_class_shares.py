"""The shares of the classes among all training rows; numpy only, as ``hashnlp predict`` imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sklearn_hashnlp.training._validation_split import Samples


def count_classes(rows: Samples, n_classes: int) -> NDArray[np.float64]:
    """Return the total weight of the rows of each class, and of all rows, shape (n_classes + 1,)."""
    weights = np.ones(len(rows)) if rows.row_weights is None else rows.row_weights.astype(np.float64)
    if rows.targets.ndim == 2:
        own = (rows.targets * weights[:, np.newaxis]).sum(axis=0, dtype=np.float64)
    else:
        own = np.bincount(rows.targets, weights, n_classes)
    return np.append(own, weights.sum())


def class_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each class; multilabel shares do not add up to one."""
    smoothed = 1 / len(counts)  # a class without rows is improbable, not impossible
    return np.asarray((counts[:-1] + smoothed) / (counts[-1] + smoothed * len(counts)))


def prior_scores(
    counts: NDArray[np.float64], *, link: str, multilabel: bool, inverse_temperature: float
) -> NDArray[np.float64]:
    """Return the scores for which the probabilities are the shares of the classes."""
    shares = class_shares(counts)
    if multilabel:
        return np.asarray(_log_odds(shares) / inverse_temperature)
    logarithms = np.log(shares) / inverse_temperature
    return np.asarray(_log_odds(np.exp(logarithms)) if link == "log_sigmoid" else logarithms)


def _log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(probabilities) - np.log1p(-probabilities))
