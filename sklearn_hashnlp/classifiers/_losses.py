"""The losses of the classifiers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn import HierarchicalSoftmax


class RowLoss(nn.Module):
    """A loss of each row of a net's outputs, which tells as well what they mean."""

    @abstractmethod
    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Compute rows."""

    @abstractmethod
    def probabilities(self, outputs: Tensor) -> Tensor:
        """Return what skorch's callbacks take for probabilities."""

    def right(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the rows that get their class, or all their classes and no others."""
        if targets.dim() == 1:
            return outputs.argmax(dim=1) == targets
        return ((outputs > 0) == (targets > 0)).all(dim=1)


class SoftmaxLoss(RowLoss):
    """Cross-entropy: of a row with the scores s and the class t, log(sum_c exp(s_c)) - s_t."""

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute rows."""
        return functional.cross_entropy(scores, targets, reduction="none")

    def probabilities(self, scores: Tensor) -> Tensor:
        """Return what skorch's callbacks take for probabilities."""
        return scores.softmax(dim=1)


class OneVsRestLoss(RowLoss):
    """Binary cross-entropy of each class against all others, summed: log(1 + exp(-y_c s_c)), y_c being 1 or -1."""

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute rows."""
        indicators = _indicators(scores, targets)
        return functional.binary_cross_entropy_with_logits(scores, indicators, reduction="none").sum(dim=1)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Return what skorch's callbacks take for probabilities."""
        return scores.sigmoid()


class SquaredHingeLoss(RowLoss):
    """Squared hinge loss of each class against all others, summed: max(0, 1 - y_c s_c)^2, y_c being 1 or -1."""

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute rows."""
        signs = 2 * _indicators(scores, targets) - 1
        return functional.relu(1 - signs * scores).square().sum(dim=1)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Return what skorch's callbacks take for probabilities."""
        return scores.sigmoid()


class TreeLoss(RowLoss):
    """Minus the logarithm of a class's probability in a tree: the sum over the decisions on its path."""

    def __init__(self, layer: HierarchicalSoftmax) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Compute rows."""
        log_probs: Tensor = self.layer(hidden, targets)[0]
        return -log_probs

    def probabilities(self, hidden: Tensor) -> Tensor:
        """Return the probabilities of all classes."""
        return self.layer.log_prob(hidden).exp()

    def right(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return the rows whose class is the most probable."""
        return self.layer.predict(hidden) == targets


ROW_LOSSES: Final[dict[str, type[RowLoss]]] = {
    "softmax": SoftmaxLoss,
    "ova": OneVsRestLoss,
    "hinge": SquaredHingeLoss,
}
"""Those of scores, by the names that they have in a training plan."""


def make_row_loss(name: str, head: nn.Sequential) -> RowLoss:
    """Make the loss that a net is trained with."""
    return TreeLoss(head[-1]) if isinstance(head[-1], HierarchicalSoftmax) else ROW_LOSSES[name]()


def _indicators(scores: Tensor, targets: Tensor) -> Tensor:
    if targets.dim() == 2:
        return targets.to(scores.dtype)
    return torch.zeros_like(scores).scatter_(1, targets.unsqueeze(1), 1.0)


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
