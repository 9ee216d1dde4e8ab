"""Output layers that score all classes: full softmax and adaptive softmax."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, check_shape, integer, one_of
from sklearn_hashnlp._idf import map_distinct
from sklearn_hashnlp.nn._hashing import check_integers
from sklearn_hashnlp.nn._tensors import is_readable, is_traced
from sklearn_hashnlp.trees._arrays import class_counts

REDUCTION = one_of("mean", "sum", "none")


def at_least_float32(scores: Tensor) -> Tensor:
    """Return scores in float32 or float64; half precision (autocast) is not accurate enough."""
    return scores if scores.dtype == torch.float64 else scores.float()


class SoftmaxOutput(NamedTuple):
    """Log-probabilities of targets and loss, as in :class:`torch.nn.AdaptiveLogSoftmaxWithLoss`."""

    output: Tensor  # (...): one per row; 0 for ignored targets
    loss: Tensor  # (), or (...) without reduction


def check_input(layer: str, input: Tensor, in_features: int) -> Tensor:  # noqa: A002 - torch's name
    """Return the input of a layer, of shape (..., in_features), as rows, or raise an error."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{layer}: input must be a Tensor, got {type(input).__name__}.")
    check_shape(layer, "input", input, ..., in_features)
    return flatten_rows(input)


def flatten_rows(tensor: Tensor) -> Tensor:
    """Return a tensor of shape (..., n_columns) as rows."""
    return tensor.flatten(0, -2) if tensor.dim() > 1 else tensor.unsqueeze(0)


def unflatten_rows(
    rows: Tensor,  # (n_rows, ...)
    shape: torch.Size,  # of the input without its last axis
) -> Tensor:
    """Reshape results per row to the shape of the input."""
    return rows if len(shape) == 1 else rows.reshape((*shape, *rows.shape[1:]))


def check_target(
    layer: str, target: Tensor, shape: torch.Size, n_classes: int, ignore_index: int | None
) -> tuple[Tensor, Tensor | None]:
    """Return the targets as int64 and the indices of their rows (None: all), or raise an error.

    In traced functions, return all targets and a mask of the rows that are not ignored.
    """
    if not isinstance(target, Tensor):
        raise TypeError(
            f"{layer}: target must be a Tensor of integers, got {type(target).__name__}. Pass "
            "torch.tensor(target)."
        )
    check_shape(layer, "target", target, *shape, note=", one class for each row of input")
    check_integers(layer, "target", target)
    target, rows = target.flatten().to(torch.int64), None
    if ignore_index is not None:
        mask = target != ignore_index
        if is_traced():
            return torch.where(mask, target, 0), mask
        keep = mask.nonzero().squeeze(1)
        if len(keep) < len(target):
            rows, target = keep, target[keep]
    if is_readable(target) and len(target):
        low, high = (int(end) for end in target.aminmax())
        if low < 0 or high >= n_classes:
            raise ValueError(
                f"{layer}: target must be between 0 and {n_classes - 1}, got "
                f"{low if low < 0 else high}."
            )
    return target, rows


def keep_rows(
    tensor: Tensor,  # (n_rows, n_columns)
    rows: Tensor | None,  # as returned by check_target
) -> Tensor:
    """Select rows by index, or set the other rows to zero if there is a mask."""
    if rows is None:
        return tensor
    return torch.where(rows.unsqueeze(1), tensor, 0) if rows.dtype == torch.bool else tensor[rows]


def make_output(
    log_probs: Tensor,  # (n_targets,)
    rows: Tensor | None,  # (n_targets,): as returned by check_target
    shape: torch.Size,  # of all targets
    reduction: str,
) -> SoftmaxOutput:
    """Compute the loss without the ignored targets."""
    output, mask = log_probs, None
    if rows is not None and rows.dtype == torch.bool:
        mask = rows
        output = log_probs = torch.where(mask, log_probs, 0)
    elif rows is not None:
        output = log_probs.new_zeros(math.prod(shape)).index_copy(0, rows, log_probs)
    output = unflatten_rows(output, shape)
    if reduction == "none":
        return SoftmaxOutput(output, -output)
    if reduction == "sum":
        return SoftmaxOutput(output, -log_probs.sum())
    return SoftmaxOutput(
        output, -log_probs.mean() if mask is None else -log_probs.sum() / mask.sum()
    )


def smoothed_counts(counts: ArrayLike, n_classes: int, caller: str) -> NDArray[np.float64]:
    """Return class counts plus one, so that no probability is zero, or raise an error."""
    array = class_counts(counts, caller)
    if len(array) != n_classes:
        raise ValueError(
            f"{caller}: counts must have one count for each of {n_classes} classes, got "
            f"{len(array)}."
        )
    return array + 1.0


class SoftmaxLayer(nn.Module):
    """An output layer that computes the log-probabilities of all classes."""

    n_classes: int

    @abstractmethod
    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Compute the log-probabilities of all classes, of shape (..., n_classes)."""

    @abstractmethod
    def init_bias(self, counts: ArrayLike) -> None:
        """Set the biases from class counts."""

    def predict(self, input: Tensor) -> Tensor:  # noqa: A002
        """Predict the most probable class of each row, int64 of shape (...)."""
        with torch.no_grad():
            return self.log_prob(input).argmax(dim=-1)

    def topk(self, input: Tensor, k: int) -> tuple[Tensor, Tensor]:  # noqa: A002
        """Predict the k most probable classes.

        Parameters
        ----------
        input : Tensor of shape (..., in_features)
            Output of the layer below.
        k : int
            Number of classes to return; 1 to ``n_classes``.

        Returns
        -------
        log_probs : Tensor of shape (..., k)
            Log-probabilities in descending order; float32, or float64 for float64 input.
        classes : Tensor of shape (..., k), dtype int64
            The classes in that order.
        """
        check_parameters(type(self).__name__, {"k": integer(1, self.n_classes)}, locals())
        with torch.no_grad():
            log_probs, classes = self.log_prob(input).topk(k, dim=-1)
        return log_probs, classes

    def sample(self, input: Tensor, *, generator: torch.Generator | None = None) -> Tensor:  # noqa: A002
        """Sample a class for each row from the predicted distribution, int64 of shape (...)."""
        with torch.no_grad():
            probabilities = flatten_rows(self.log_prob(input).exp())
            classes = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        return unflatten_rows(classes, input.shape[:-1])


class FullSoftmax(SoftmaxLayer):
    """Predict a class by a linear layer and a softmax over all classes.

    It has the methods of :class:`HierarchicalSoftmax`, so that a network can use either. A row
    costs ``n_classes * in_features`` multiplications, both in training and in prediction.

    Parameters
    ----------
    in_features : int
        Number of input columns.
    n_classes : int
        Number of classes; V in the papers.
    ignore_index : int, default=-100
        Rows with this target are excluded from the loss and have no gradient; None ignores nothing.
    reduction : {"mean", "sum", "none"}, default="mean"
        Reduction of the losses of the rows.
    device, dtype : default=None
        Device and dtype of the parameters.

    Attributes
    ----------
    weight : Parameter of shape (n_classes, in_features)
        One row for each class, initialized uniformly in +-1/sqrt(in_features), as in
        :class:`torch.nn.Linear`.
    bias : Parameter of shape (n_classes,)
        One value for each class, initialized as the weight; :meth:`init_bias` sets it from class
        counts.

    See Also
    --------
    HierarchicalSoftmax : An output layer with a cost proportional to the length of a path in a
        tree.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3,
           section 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import FullSoftmax
    >>> layer = FullSoftmax(16, 1000)
    >>> log_probs, loss = layer(
    ...     torch.randn(4, 16), torch.tensor([3, 7, 999, 3])
    ... )
    >>> log_probs.shape, loss.shape
    (torch.Size([4]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        *,
        ignore_index: int | None = -100,
        reduction: str = "mean",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        constraints = {"reduction": REDUCTION, "in_features": integer(), "n_classes": integer()}
        check_parameters("FullSoftmax", constraints, locals())
        self.in_features = in_features
        self.n_classes = n_classes
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.weight = nn.Parameter(
            torch.empty((n_classes, in_features), device=device, dtype=dtype)
        )
        self.bias = nn.Parameter(torch.empty(n_classes, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all parameters."""
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    @torch.no_grad()
    def init_bias(self, counts: ArrayLike) -> None:
        """Set the biases to the logarithms of class counts with add-one smoothing, (n_classes,)."""
        smoothed = smoothed_counts(counts, self.n_classes, "FullSoftmax.init_bias")
        self.bias.copy_(torch.from_numpy(map_distinct(math.log, smoothed / smoothed.sum())))

    def forward(self, input: Tensor, target: Tensor) -> SoftmaxOutput:  # noqa: A002 - torch's name
        """Compute the log-probabilities of the target classes, and the loss.

        Parameters
        ----------
        input : Tensor of shape (..., in_features)
            Output of the layer below.
        target : Tensor of shape (...), any integer dtype
            The class of each row.

        Returns
        -------
        output : Tensor of shape (...)
            log P(target | input), 0 if the target is ``ignore_index``; float32, or float64 for
            float64 input.
        loss : Tensor of shape (), or (...) with ``reduction="none"``
            Negative log-likelihood; NaN for the mean over no rows.
        """
        rows = check_input("FullSoftmax", input, self.in_features)
        shape = input.shape[:-1]
        target, keep = check_target("FullSoftmax", target, shape, self.n_classes, self.ignore_index)
        scores = self.log_prob(keep_rows(rows, keep))
        log_probs = scores.gather(1, target.unsqueeze(1)).squeeze(1)
        return make_output(log_probs, keep, shape, self.reduction)

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes, of shape (..., n_classes)."""
        weight = self.weight[: self.n_classes]  # a tied table may have rows for other words
        return functional.log_softmax(
            at_least_float32(functional.linear(input, weight, self.bias)), dim=-1
        )

    def extra_repr(self) -> str:
        """Describe the layer in ``repr``."""
        return f"{self.in_features}, {self.n_classes}"


class AdaptiveSoftmax(SoftmaxLayer):
    """Predict a class by a softmax over frequent classes and over clusters of rare classes.

    :class:`torch.nn.AdaptiveLogSoftmaxWithLoss` with the methods of :class:`FullSoftmax`. The
    classes must be sorted by descending frequency. By default clusters start at a fifth and at half
    of the classes. Classes within a cluster have no biases: at first they are about equally
    probable.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        *,
        cutoffs: Sequence[int] | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_parameters("AdaptiveSoftmax", {"n_classes": integer(2)}, locals())
        if cutoffs is None:
            cutoffs = sorted({max(1, n_classes // 5), max(1, n_classes // 2)})
        self.in_features = in_features
        self.n_classes = n_classes
        # Each cluster has at least a quarter of the columns of the previous one, and the last at
        # least one.
        div_value = min(4.0, in_features ** (1 / len(cutoffs)) * (1 - 1e-9))
        self.layer = nn.AdaptiveLogSoftmaxWithLoss(
            in_features,
            n_classes,
            list(cutoffs),
            div_value=div_value,
            head_bias=True,
            device=device,
            dtype=dtype,
        )

    @torch.no_grad()
    def init_bias(self, counts: ArrayLike) -> None:
        """Set the biases of frequent classes and of clusters to the logarithms of their counts."""
        smoothed = smoothed_counts(counts, self.n_classes, "AdaptiveSoftmax.init_bias")
        first = self.layer.shortlist_size
        clusters = np.add.reduceat(smoothed, self.layer.cutoffs[:-1])
        shares = np.append(smoothed[:first], clusters) / smoothed.sum()
        self.layer.head.bias.copy_(torch.from_numpy(map_distinct(math.log, shares)))

    def forward(self, input: Tensor, target: Tensor) -> SoftmaxOutput:  # noqa: A002 - torch's name
        """Compute the log-probabilities of the target classes, and the loss."""
        rows = check_input("AdaptiveSoftmax", input, self.in_features)
        shape = input.shape[:-1]
        target, _ = check_target("AdaptiveSoftmax", target, shape, self.n_classes, None)
        if len(rows) == 0:
            log_probs = at_least_float32(rows).sum(dim=1)
        else:
            log_probs = at_least_float32(
                self._without_autocast(lambda rows: self.layer(rows, target).output, rows)
            )
        return make_output(log_probs, None, shape, "mean")

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes."""
        rows = check_input("AdaptiveSoftmax", input, self.in_features)
        log_probs = at_least_float32(self._without_autocast(self.layer.log_prob, rows))
        return unflatten_rows(log_probs, input.shape[:-1])

    def _without_autocast(self, work: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """Call torch's layer in the dtype of its weight, since it mixes dtypes under autocast."""
        if not torch.is_autocast_enabled(rows.device.type):
            return work(rows)
        with torch.autocast(rows.device.type, enabled=False):
            return work(rows.to(self.layer.head.weight.dtype))
