"""From scores to probabilities and labels, for every loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

_SHARPEST = 1e3


@dataclass(frozen=True)
class Probabilities:
    """What the scores of a net mean."""

    loss: str  # the loss that the net was trained with
    multilabel: bool  # whether a row may have any number of labels
    sharpness: float = 1.0  # what the scores of a net of ``loss="hinge"`` are multiplied by before the softmax

    def __call__(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute probabilities."""
        if self.multilabel:
            return np.asarray(expit(scores))
        return np.asarray(softmax(self._logits(scores), axis=1))

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the logarithm of the odds of the second of two classes."""
        logits = self._logits(scores)
        return np.asarray(logits[:, 1] - logits[:, 0])

    def _logits(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        # The softmax of the logarithms of sigmoids is sigmoids over their sum, and knows no sum that is zero.
        return np.asarray(log_expit(scores)) if self.loss == "ova" else self.sharpness * scores


def fit_sharpness(
    scores: NDArray[np.float64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    *,
    known: float = 1.0,
    known_rows: int = 0,
) -> float:
    """Find the number by which scores are multiplied so that their softmax fits the targets best."""
    n_rows, n_classes = scores.shape
    if weights is not None and not weights.any():
        weights = None
    own = scores[np.arange(n_rows), targets]
    other = 1 / (n_rows + known_rows + n_classes)
    expected = (softmax(known * scores, axis=1) * scores).sum(axis=1)
    aimed_at = (1 - n_classes * other) * own + other * scores.sum(axis=1)
    share = n_rows / (n_rows + known_rows)
    aimed_at = share * aimed_at + (1 - share) * expected

    def loss(log_sharpness: float) -> float:
        sharpness = np.exp(log_sharpness)
        normaliser = sharpness * scores[:, 0] - log_softmax(sharpness * scores, axis=1)[:, 0]
        return float(np.average(normaliser - sharpness * aimed_at, weights=weights))

    limit = np.log(_SHARPEST)
    bounds = np.clip(np.log(known) + np.array([-limit, limit]) * share, -limit, limit)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
