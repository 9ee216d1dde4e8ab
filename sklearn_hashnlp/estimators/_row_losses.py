"""Losses of scores, one a row."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional


class SoftmaxLoss(nn.Module):
    """Cross-entropy: of a row with the scores s and the class t, log(sum_c exp(s_c)) - s_t.

    Examples
    --------
    >>> import torch
    >>> SoftmaxLoss()(torch.zeros(1, 4), torch.tensor([2])).exp()
    tensor([4.])
    """

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Measure rows.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.
        targets : Tensor of int64, shape (n_rows,)
            Class numbers.

        Returns
        -------
        Tensor of shape (n_rows,)
            Losses.
        """
        return functional.cross_entropy(scores, targets, reduction="none")


class OneAgainstAllLoss(nn.Module):
    """Binary cross-entropy of each class against all others, summed: log(1 + exp(-y_c s_c)), y_c being 1 or -1.

    Examples
    --------
    >>> import torch
    >>> OneAgainstAllLoss()(torch.zeros(1, 4), torch.tensor([2])).exp()
    tensor([16.])
    """

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Measure rows.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.
        targets : Tensor of int64, shape (n_rows,), or of float, shape (n_rows, n_classes)
            Class numbers, or 1 for each class that a row has and else 0.

        Returns
        -------
        Tensor of shape (n_rows,)
            Losses.
        """
        indicators = _indicators(scores, targets)
        return functional.binary_cross_entropy_with_logits(scores, indicators, reduction="none").sum(dim=1)


class SquaredHingeLoss(nn.Module):
    """Squared hinge loss of each class against all others, summed: max(0, 1 - y_c s_c)^2, y_c being 1 or -1.

    Examples
    --------
    >>> import torch
    >>> SquaredHingeLoss()(torch.tensor([[-3.0, 0.5]]), torch.tensor([1]))
    tensor([0.2500])
    """

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Measure rows.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.
        targets : Tensor of int64, shape (n_rows,), or of float, shape (n_rows, n_classes)
            Class numbers, or 1 for each class that a row has and else 0.

        Returns
        -------
        Tensor of shape (n_rows,)
            Losses.
        """
        signs = 2 * _indicators(scores, targets) - 1
        return functional.relu(1 - signs * scores).square().sum(dim=1)


ROW_LOSSES: Final[dict[str, type[nn.Module]]] = {
    "softmax": SoftmaxLoss,
    "ova": OneAgainstAllLoss,
    "hinge": SquaredHingeLoss,
}
"""By the names that they have in a training plan."""


def _indicators(scores: Tensor, targets: Tensor) -> Tensor:
    if targets.dim() == 2:
        return targets.to(scores.dtype)
    return torch.zeros_like(scores).scatter_(1, targets.unsqueeze(1), 1.0)
