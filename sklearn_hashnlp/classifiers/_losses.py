"""Losses of the classifiers: each is a class and an entry of ``LOSSES``.

Torch and scipy are imported where they compute, since ``hashnlp predict`` reads a loss without
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor, nn

    from sklearn_hashnlp.nn import HierarchicalSoftmax

LossName: TypeAlias = Literal["softmax", "ova", "hinge", "hsigmoid", "soft_softmax", "fasttext_ova"]
Calibrate: TypeAlias = Literal["auto", "temperature", False]
LossChoice: TypeAlias = Literal["auto", "softmax", "ova", "hinge", "hsigmoid", "soft_softmax"]

# FastText's table of the sigmoid: the largest score, and the number of steps per score of 1
_TABLE_LIMIT, _TABLE_STEPS = 8, 32


class Loss(ABC):
    """A loss of each row of a net's outputs, and the probabilities computed from its scores."""

    name: ClassVar[LossName]  # value of the parameter ``loss`` of the classifiers
    # multi-label classification, by an indicator matrix
    takes_several_labels: ClassVar[bool] = False
    takes_soft_labels: ClassVar[bool] = False  # a probability of each class for each row
    has_temperature: ClassVar[bool] = True
    # scores are not logits: it is fitted even on training rows
    needs_temperature: ClassVar[bool] = False
    # largest second derivative by the scores, in any direction; of a node of a tree
    curvature: ClassVar[float] = 0.25
    link: ClassVar[str] = "identity"  # from scores to logits: "identity" or "log_sigmoid"

    def __init__(
        self,
        *,
        multilabel: bool = False,
        inverse_temperature: float = 1.0,
        layer: HierarchicalSoftmax | None = None,
    ) -> None:
        self.multilabel = multilabel  # whether a row may have any number of labels
        self.inverse_temperature = inverse_temperature  # factor of the logits
        self.layer = layer  # the last layer of the net, if it is a tree

    @abstractmethod
    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of each row."""

    def best_constant(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the constant scores with the smallest loss for the shares of the classes."""
        return log_odds_of(shares)

    def constant_beside(
        self, scores: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return constant scores for new classes, of some shares, beside scores of known ones."""
        return self.best_constant(shares)

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return which rows are predicted correctly; of an indicator matrix the whole row."""
        if targets.dim() == 1:
            return outputs.argmax(dim=1) == targets
        return ((outputs > 0) == (targets > 0)).all(dim=1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the scores of all classes, from the outputs that the loss is computed from."""
        return outputs

    def linked(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits at a temperature of 1."""
        if self.link != "log_sigmoid" or self.multilabel:
            return scores
        from scipy.special import log_expit

        # The softmax of log-sigmoids is sigmoids divided by their sum, without underflow to a sum
        # of zero.
        return np.asarray(log_expit(scores))

    def logits(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits: probabilities are their softmax or, if multilabel, their sigmoids."""
        return self.inverse_temperature * self.linked(scores)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute class probabilities, for ``predict_proba`` and for skorch's callbacks alike."""
        logits = self.logits(scores)
        if self.multilabel:
            from scipy.special import expit

            return np.asarray(expit(logits))
        # This is scipy's softmax, with less overhead.
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def log_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the logarithms of class probabilities."""
        from scipy.special import log_expit, log_softmax

        logits = self.logits(scores)
        return np.asarray(log_expit(logits) if self.multilabel else log_softmax(logits, axis=1))

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the log-odds of the second of two classes."""
        logits = self.logits(scores)
        return np.asarray(logits[:, 1] - logits[:, 0])

    def prior_scores(self, class_counts: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the scores with the class shares as probabilities; None if there are no counts."""
        if class_counts[-1] <= 0:
            return None
        shares = class_shares(class_counts)
        if self.multilabel:
            return log_odds_of(shares) / self.inverse_temperature
        logarithms = np.log(shares) / self.inverse_temperature
        return log_odds_of(np.exp(logarithms)) if self.link == "log_sigmoid" else logarithms


class SoftmaxLoss(Loss):
    """Cross-entropy: log(sum_c exp(s_c)) - s_t of a row with scores s and class t."""

    name: ClassVar[LossName] = "softmax"
    curvature = 0.5

    def best_constant(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores with the smallest loss, the same for all rows."""
        return np.asarray(np.log(shares))

    def constant_beside(
        self, scores: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return constant scores for new classes, of some shares, beside scores of known ones."""
        from scipy.special import logsumexp

        return np.asarray(logsumexp(scores, axis=1).mean() + np.log(shares))

    def __call__(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of each row."""
        from torch.nn import functional

        return functional.cross_entropy(scores, targets, reduction="none")


class SoftLabelLoss(SoftmaxLoss):
    """Cross-entropy with soft labels: log(sum_c exp(s_c)) - sum_c p_c s_c, probabilities p_c."""

    name = "soft_softmax"
    takes_soft_labels = True

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return which rows have the class of the highest probability as predicted label."""
        return outputs.argmax(dim=1) == targets.argmax(dim=1)


class OneVsRestLoss(Loss):
    """Binary cross-entropy, summed over the classes: log(1 + exp(-y_c s_c)), y_c being 1 or -1."""

    name: ClassVar[LossName] = "ova"
    takes_several_labels = True
    link = "log_sigmoid"

    def __call__(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of each row."""
        from torch.nn import functional

        indicators = _indicators(scores, targets)
        return functional.binary_cross_entropy_with_logits(
            scores, indicators, reduction="none"
        ).sum(dim=1)


class FastTextLoss(OneVsRestLoss):
    """The one-vs-rest loss of fastText models, with fastText's probabilities of single labels."""

    name = "fasttext_ova"
    takes_several_labels = False
    has_temperature = False

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the probability of each class; rows do not sum to one."""
        from scipy.special import expit

        steps = expit(
            np.floor(np.clip(scores, -_TABLE_LIMIT, _TABLE_LIMIT) * _TABLE_STEPS) / _TABLE_STEPS
        )
        table = np.where(np.abs(scores) > _TABLE_LIMIT, scores > 0, steps)
        return np.asarray(table + 1e-6 * (expit(scores) - table))  # the exact sigmoid breaks ties

    def log_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the logarithms of these probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities(scores)))


class SquaredHingeLoss(Loss):
    """Squared hinge loss, summed over the classes: max(0, 1 - y_c s_c)^2, y_c being 1 or -1."""

    name = "hinge"
    needs_temperature = True
    curvature = 2.0

    def best_constant(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores with the smallest loss, the same for all rows."""
        return 2 * shares - 1

    def __call__(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of each row."""
        signs = 2 * _indicators(scores, targets) - 1
        return (1 - signs * scores).relu().square().sum(dim=1)


class TreeLoss(Loss):
    """Negative log-likelihood of a class in a tree: summed over the decisions on its path."""

    name = "hsigmoid"
    has_temperature = False  # the search for the most probable classes does not compute all scores
    layer: HierarchicalSoftmax

    def __call__(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of each row."""
        log_probs: Tensor = self.layer(hidden, targets)[0]
        return -log_probs

    def correct(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return which rows have their class as the most probable."""
        return self.layer.predict(hidden) == targets

    def constant_beside(
        self, scores: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the score of a node for new classes, some together, above the known ones."""
        return log_odds_of(shares.sum(keepdims=True))

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the log-probabilities of all classes."""
        return self.layer.log_prob(hidden)


LOSSES: Final[dict[LossName, type[Loss]]] = {
    loss.name: loss
    for loss in (
        SoftmaxLoss,
        OneVsRestLoss,
        SquaredHingeLoss,
        TreeLoss,
        SoftLabelLoss,
        FastTextLoss,
    )
}
"""All losses by name; the last is not a parameter, but the loss of loaded fastText models."""


def takes_several_labels(name: str | None) -> bool:
    """Return whether a loss supports multi-label classification; ``fit`` refuses invalid names."""
    return name in (None, "auto") or (name in LOSSES and LOSSES[name].takes_several_labels)


def takes_soft_labels(name: str) -> bool:
    """Return whether a loss needs a probability of each class; ``fit`` refuses invalid names."""
    return name in LOSSES and LOSSES[name].takes_soft_labels


def make_loss(
    name: LossName,
    head: nn.Sequential | None = None,
    *,
    multilabel: bool = False,
    inverse_temperature: float = 1.0,
) -> Loss:
    """Build a loss; training a tree loss needs the net's head."""
    layer: Any = head[-1] if head is not None and name == TreeLoss.name else None
    return LOSSES[name](multilabel=multilabel, inverse_temperature=inverse_temperature, layer=layer)


def largest(
    probabilities: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the k largest probabilities of each row, descending, and their class indices."""
    indices = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    return probabilities[np.arange(len(indices))[:, np.newaxis], indices], indices


def label_pairs(
    labels: list[Any],
    probabilities: NDArray[np.float64],
    indices: NDArray[np.int64],
    threshold: float,
) -> list[list[tuple[Any, float]]]:
    """Return the labels of each row with their probabilities, of at least a threshold."""
    return [
        [
            (labels[index], probability)
            for index, probability in zip(*best, strict=True)
            if probability >= threshold
        ]
        for best in zip(indices.tolist(), probabilities.tolist(), strict=True)
    ]


def loss_to_values(loss: Loss) -> dict[str, Any]:
    """Return a loss as JSON values for :func:`loss_from_values`."""
    return {"loss": loss.name, "multilabel": loss.multilabel, "sharpness": loss.inverse_temperature}


def loss_from_values(values: dict[str, Any]) -> Loss:
    """Build a saved loss; one of a tree has no layer yet."""
    multilabel, inverse_temperature = bool(values["multilabel"]), float(values["sharpness"])
    return make_loss(values["loss"], multilabel=multilabel, inverse_temperature=inverse_temperature)


def class_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each class's share of the total weight; multilabel shares do not add up to one.

    A class without rows is improbable, not impossible.
    """
    smoothed = 1 / len(counts)
    return np.asarray((counts[:-1] + smoothed) / (counts[-1] + smoothed * len(counts)))


def log_odds_of(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of odds."""
    return np.asarray(np.log(probabilities) - np.log1p(-probabilities))


def _indicators(scores: Tensor, targets: Tensor) -> Tensor:
    if targets.dim() == 2:
        return targets.to(scores.dtype)
    return scores.new_zeros(scores.shape).scatter_(1, targets.unsqueeze(1), 1.0)
