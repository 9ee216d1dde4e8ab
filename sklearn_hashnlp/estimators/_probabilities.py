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
    """What the scores of a net mean.

    Parameters
    ----------
    loss : {"softmax", "ova", "hinge"}
        The loss that the net was trained with.
    multilabel : bool
        Whether a row may have any number of labels.
    sharpness : float, default=1.0
        What the scores of a net of ``loss="hinge"`` are multiplied by before the softmax.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.0, 0.0, np.log(3)]])
    >>> Probabilities("softmax", multilabel=False)(scores)
    array([[0.2, 0.2, 0.6]])
    >>> Probabilities("ova", multilabel=True)(scores)
    array([[0.5 , 0.5 , 0.75]])
    """

    loss: str
    multilabel: bool
    sharpness: float = 1.0

    def __call__(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute probabilities.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            Scores.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities. But for ``multilabel=True`` a row sums to one.
        """
        if self.multilabel:
            return np.asarray(expit(scores))
        return np.asarray(softmax(self._logits(scores), axis=1))

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the logarithm of the odds of the second of two classes.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, 2)
            Scores.

        Returns
        -------
        ndarray of shape (n_samples,)
            Above zero where the second is more probable than the first.
        """
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
    """Find the number by which scores are multiplied so that their softmax fits the targets best.

    The mean log-likelihood of ``softmax(sharpness * scores)`` is concave in the sharpness, and its maximum is found.
    Where every row is told right it would have none; so, as in Platt's scaling [1]_, the probability aimed at is
    (n + 1) / (n + n_classes) for a row's class and 1 / (n + n_classes) for each other.

    Where a sharpness is known already, its own probabilities are aimed at as well, in proportion to the rows that stand
    behind it, and the share of the rows bounds the step: a few move it little, however wrong the model is on them.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Scores.
    targets : ndarray of shape (n,), dtype int64
        Class numbers.
    weights : ndarray of shape (n,) or None
        How much each row counts; all alike if all are zero.
    known : float, default=1.0
        The sharpness found before.
    known_rows : int, default=0
        Rows it was found on; 0 forgets it.

    Returns
    -------
    float
        The sharpness, between 1e-3 and 1e3.

    References
    ----------
    .. [1] Platt (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood
           methods.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.0]] * 4000)
    >>> targets = np.array([0, 0, 0, 1] * 1000)  # three of four: odds of 3, and exp(2.197 * 0.5) is 3
    >>> round(fit_sharpness(scores, targets, None), 2)
    2.2
    """
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
