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
        """Measure rows.

        Parameters
        ----------
        outputs : Tensor of float, shape (n_rows, n_outputs)
            What the net gave.
        targets : Tensor
            What is aimed at.

        Returns
        -------
        Tensor of shape (n_rows,)
            Losses.
        """

    @abstractmethod
    def probabilities(self, outputs: Tensor) -> Tensor:
        """Give what skorch's callbacks take for probabilities.

        Parameters
        ----------
        outputs : Tensor of float, shape (n_rows, n_outputs)
            What the net gave.

        Returns
        -------
        Tensor of shape (n_rows, n_classes)
            Probabilities.
        """

    def right(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Tell the rows that get their class, or all their classes and no others.

        Parameters
        ----------
        outputs : Tensor of float, shape (n_rows, n_outputs)
            What the net gave: a score a class.
        targets : Tensor of int64, shape (n_rows,), or of float, shape (n_rows, n_classes)
            Class numbers, or 1 for each class that a row has and else 0.

        Returns
        -------
        Tensor of bool, shape (n_rows,)
            Whether each is right.
        """
        if targets.dim() == 1:
            return outputs.argmax(dim=1) == targets
        return ((outputs > 0) == (targets > 0)).all(dim=1)


class SoftmaxLoss(RowLoss):
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

    def probabilities(self, scores: Tensor) -> Tensor:
        """Give what skorch's callbacks take for probabilities.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.

        Returns
        -------
        Tensor of shape (n_rows, n_classes)
            Their softmax.
        """
        return scores.softmax(dim=1)


class OneAgainstAllLoss(RowLoss):
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

    def probabilities(self, scores: Tensor) -> Tensor:
        """Give what skorch's callbacks take for probabilities.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.

        Returns
        -------
        Tensor of shape (n_rows, n_classes)
            Sigmoids.
        """
        return scores.sigmoid()


class SquaredHingeLoss(RowLoss):
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

    def probabilities(self, scores: Tensor) -> Tensor:
        """Give what skorch's callbacks take for probabilities.

        Parameters
        ----------
        scores : Tensor of float, shape (n_rows, n_classes)
            Scores.

        Returns
        -------
        Tensor of shape (n_rows, n_classes)
            Sigmoids.
        """
        return scores.sigmoid()


class PathLoss(RowLoss):
    """Minus the logarithm of a class's probability in a tree: the sum over the decisions on its path.

    A row's outputs are what the tree reads; all classes' scores are never computed in training.

    Parameters
    ----------
    layer : HierarchicalSoftmax
        The tree with its weights: the last layer of the net's head.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HierarchicalSoftmax
    >>> from sklearn_hashnlp.trees import complete_tree
    >>> loss = PathLoss(HierarchicalSoftmax(complete_tree(4), in_features=3))
    >>> loss(torch.zeros(1, 3), torch.tensor([2])).exp().round(decimals=4)  # two fair decisions
    tensor([4.], grad_fn=<RoundBackward1>)
    """

    def __init__(self, layer: HierarchicalSoftmax) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Measure rows.

        Parameters
        ----------
        hidden : Tensor of float, shape (n_rows, in_features)
            What the tree reads.
        targets : Tensor of int64, shape (n_rows,)
            Class numbers.

        Returns
        -------
        Tensor of shape (n_rows,)
            Losses.
        """
        log_probs: Tensor = self.layer(hidden, targets)[0]
        return -log_probs

    def probabilities(self, hidden: Tensor) -> Tensor:
        """Give the probabilities of all classes.

        Parameters
        ----------
        hidden : Tensor of float, shape (n_rows, in_features)
            What the tree reads.

        Returns
        -------
        Tensor of shape (n_rows, n_classes)
            Probabilities.
        """
        return self.layer.log_prob(hidden).exp()

    def right(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Tell the rows whose class is the most probable.

        Parameters
        ----------
        hidden : Tensor of float, shape (n_rows, in_features)
            What the tree reads.
        targets : Tensor of int64, shape (n_rows,)
            Class numbers.

        Returns
        -------
        Tensor of bool, shape (n_rows,)
            Whether each is right.
        """
        return self.layer.predict(hidden) == targets


ROW_LOSSES: Final[dict[str, type[RowLoss]]] = {
    "softmax": SoftmaxLoss,
    "ova": OneAgainstAllLoss,
    "hinge": SquaredHingeLoss,
}
"""Those of scores, by the names that they have in a training plan."""


def make_row_loss(name: str, head: nn.Sequential) -> RowLoss:
    """Make the loss that a net is trained with.

    Parameters
    ----------
    name : {"softmax", "ova", "hinge", "hsigmoid"}
        As in a training plan.
    head : Sequential
        The net's head.

    Returns
    -------
    RowLoss
        The loss.
    """
    return PathLoss(head[-1]) if isinstance(head[-1], HierarchicalSoftmax) else ROW_LOSSES[name]()


def _indicators(scores: Tensor, targets: Tensor) -> Tensor:
    if targets.dim() == 2:
        return targets.to(scores.dtype)
    return torch.zeros_like(scores).scatter_(1, targets.unsqueeze(1), 1.0)
