"""Temperature scaling: the temperature of given scores, without torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from sklearn_hashnlp.classifiers._losses import Loss
from sklearn_hashnlp.training._validation_split import Samples

MAX_ROWS = 10_000  # for fitting an inverse temperature
MAX_SCORES = 2**22
MAX_INVERSE_TEMPERATURE = 1e3


def update_temperature(
    loss: Loss,
    score: Callable[[Any], NDArray[np.float64]],
    rows: Samples,
    n_classes: int,
    *,
    known: float = 1.0,
    n_known: int = 0,
) -> None:
    """Fit the temperature of a loss on training rows; the previous one counts as much as its rows."""
    some, n_known = sample(rows, n_classes), min(n_known, MAX_ROWS)
    # Nearly all training rows are predicted correctly: smooth more, by a row per class.
    options = {"n_uniform": n_classes, "known": known if n_known else 1.0, "known_rows": n_known}
    loss.inverse_temperature = inverse_temperature(loss, score(some), some, **options)


def sample(rows: Samples, n_classes: int) -> Samples:
    """Sample rows for fitting a temperature, evenly spaced."""
    step = max(-(-len(rows) // MAX_ROWS), -(-len(rows) * n_classes // MAX_SCORES))
    return rows if step == 1 else rows.select(np.arange(len(rows))[::step])


def inverse_temperature(loss: Loss, scores: NDArray[np.float64], rows: Samples, **options: Any) -> float:
    """Compute the inverse temperature of the scores of rows, see :func:`fit_inverse_temperature`."""
    logits, targets, weights = loss.linked(scores), rows.targets, rows.row_weights
    if loss.multilabel:  # each label is a decision between the logits 0 and s
        weights = None if weights is None else np.repeat(weights, logits.shape[1])
        targets = targets.ravel().astype(np.int64)
        logits = np.stack([np.zeros(logits.size), logits.ravel()], axis=1)
    return fit_inverse_temperature(logits, targets, weights, **options)


def fit_inverse_temperature(
    scores: NDArray[np.float64],
    targets: NDArray[Any],  # (n_rows,), or (n_rows, n_classes): soft labels
    weights: NDArray[np.float32] | None,
    *,
    n_uniform: int,
    known: float = 1.0,
    known_rows: int = 0,
) -> float:
    """Compute the inverse temperature that maximizes the likelihood of the targets and of imagined rows."""
    # Imagined are n_uniform rows of uniform classes, which make the optimum finite, and known_rows rows with targets
    # drawn from the probabilities of the previous inverse temperature.
    n_rows, n_classes = scores.shape
    if weights is not None and not weights.any():
        weights = None
    own = (scores * targets).sum(axis=1) if targets.ndim == 2 else scores[np.arange(n_rows), targets]
    other = n_uniform / (n_classes * (n_rows + known_rows + n_uniform))
    expected = (softmax(known * scores, axis=1) * scores).sum(axis=1)
    target = (1 - n_classes * other) * own + other * scores.sum(axis=1)
    share = n_rows / (n_rows + known_rows)
    target = share * target + (1 - share) * expected

    def loss(log_inverse_temperature: float) -> float:
        factor = np.exp(log_inverse_temperature)
        normalizer = factor * scores[:, 0] - log_softmax(factor * scores, axis=1)[:, 0]
        return float(np.average(normalizer - factor * target, weights=weights))

    limit = np.log(MAX_INVERSE_TEMPERATURE)
    bounds = np.clip(np.log(known) + np.array([-limit, limit]) * share, -limit, limit)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
