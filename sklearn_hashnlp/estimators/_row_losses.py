"""Losses, one a row, and what else the outputs of a net mean under each."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

import torch
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


class OneAgainstAllLoss(RowLoss):
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


class PathLoss(RowLoss):
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
    "ova": OneAgainstAllLoss,
    "hinge": SquaredHingeLoss,
}
"""Those of scores, by the names that they have in a training plan."""


def make_row_loss(name: str, head: nn.Sequential) -> RowLoss:
    """Make the loss that a net is trained with."""
    return PathLoss(head[-1]) if isinstance(head[-1], HierarchicalSoftmax) else ROW_LOSSES[name]()


def _indicators(scores: Tensor, targets: Tensor) -> Tensor:
    if targets.dim() == 2:
        return targets.to(scores.dtype)
    return torch.zeros_like(scores).scatter_(1, targets.unsqueeze(1), 1.0)
