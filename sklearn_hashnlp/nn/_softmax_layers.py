"""Output layers that score all classes: the full softmax and the adaptive one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._hashing import INTEGERS


def at_least_float32(scores: Tensor) -> Tensor:
    """Return scores in float32, or in float64 if they are: half precision, as under autocast, has too few digits."""
    return scores if scores.dtype == torch.float64 else scores.float()


def check_target(layer: str, target: Tensor, n_rows: int, n_classes: int) -> Tensor:
    """Return the targets of a layer as int64, or raise an error."""
    if target.shape != (n_rows,):
        raise ValueError(
            f"{layer}: target must have shape ({n_rows},), one class for each row of input, got {tuple(target.shape)}."
        )
    if target.dtype not in INTEGERS:
        raise TypeError(f"{layer}: target must have an integer dtype, got {target.dtype}.")
    target = target.to(torch.int64)
    if target.device.type == "cpu" and not torch.compiler.is_compiling() and n_rows:
        low, high = (int(end) for end in target.aminmax())
        if low < 0 or high >= n_classes:
            raise ValueError(f"{layer}: target must be between 0 and {n_classes - 1}, got {low if low < 0 else high}.")
    return target


class SoftmaxLayer(nn.Module):
    """An output layer that computes the log-probabilities of all classes, and predicts from them."""

    n_classes: int

    @abstractmethod
    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Compute the log-probabilities of all classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.

        Returns
        -------
        Tensor of shape (rows, n_classes)
            float32, or float64 for float64 input.
        """

    def predict(self, input: Tensor) -> Tensor:  # noqa: A002
        """Predict the most probable class.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            The predicted class of each row.
        """
        with torch.no_grad():
            return self.log_prob(input).argmax(dim=1)

    def topk(self, input: Tensor, k: int) -> tuple[Tensor, Tensor]:  # noqa: A002
        """Predict the k most probable classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.
        k : int
            Number of classes to return; 1 to ``n_classes``.

        Returns
        -------
        log_probs : Tensor of shape (rows, k)
            Log-probabilities in descending order; float32, or float64 for float64 input.
        classes : Tensor of shape (rows, k), dtype int64
            The classes in that order.

        Raises
        ------
        ValueError
            If ``k`` is out of range.
        """
        if not 1 <= k <= self.n_classes:
            raise ValueError(f"{type(self).__name__}: k must be between 1 and n_classes={self.n_classes}, got {k}.")
        with torch.no_grad():
            log_probs, classes = self.log_prob(input).topk(k, dim=1)
        return log_probs, classes

    def sample(self, input: Tensor, *, generator: torch.Generator | None = None) -> Tensor:  # noqa: A002
        """Sample a class for each row from the predicted distribution.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.
        generator : torch.Generator, default=None
            Random generator; None is torch's global one.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            The sampled class of each row.
        """
        with torch.no_grad():
            return torch.multinomial(self.log_prob(input).exp(), 1, generator=generator).squeeze(1)


class FullSoftmax(SoftmaxLayer):
    """Predict a class by a linear layer and a softmax over all classes.

    It has the methods of :class:`HierarchicalSoftmax`, so that a network can have either as its output layer. A row
    costs ``n_classes * in_features`` multiplications, in training and in prediction.

    Parameters
    ----------
    in_features : int
        Columns of the input.
    n_classes : int
        Number of classes; V in the papers.
    device : torch.device or str, default=None
        Device of the parameters.
    dtype : torch.dtype, default=None
        Dtype of the parameters.

    Attributes
    ----------
    weight : Parameter of shape (n_classes, in_features)
        One row for each class, initialized uniformly in +-1/sqrt(in_features), as in :class:`torch.nn.Linear`.
    bias : Parameter of shape (n_classes,)
        One value for each class, initialized as the weight.

    Raises
    ------
    ValueError
        If a size is less than 1.

    See Also
    --------
    HierarchicalSoftmax : An output layer whose cost is the length of a path in a tree.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3, section 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import FullSoftmax
    >>> layer = FullSoftmax(16, 1000)
    >>> log_probs, loss = layer(torch.randn(4, 16), torch.tensor([3, 7, 999, 3]))
    >>> log_probs.shape, loss.shape
    (torch.Size([4]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("in_features", in_features), ("n_classes", n_classes)):
            if value < 1:
                raise ValueError(f"FullSoftmax: {name} must be 1 or more, got {value}.")
        self.in_features = in_features
        self.n_classes = n_classes
        self.weight = nn.Parameter(torch.empty((n_classes, in_features), device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(n_classes, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all parameters again."""
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:  # noqa: A002 - torch's name
        """Compute the log-probabilities of the target classes, and the loss.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.
        target : Tensor of shape (rows,), any integer dtype
            The class of each row.

        Returns
        -------
        log_probs : Tensor of shape (rows,)
            log P(target | input); float32, or float64 for float64 input.
        loss : Tensor of shape ()
            Mean negative log-likelihood; NaN if there are no rows.

        Raises
        ------
        ValueError
            If the target is not one class for each row, or, checked on the CPU only, out of range.
        TypeError
            If the target does not have an integer dtype.
        """
        target = check_target("FullSoftmax", target, len(input), self.n_classes)
        log_probs = self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
        return log_probs, -log_probs.mean()

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            Output of the layer below.

        Returns
        -------
        Tensor of shape (rows, n_classes)
            float32, or float64 for float64 input.
        """
        return functional.log_softmax(at_least_float32(functional.linear(input, self.weight, self.bias)), dim=1)

    def extra_repr(self) -> str:
        """Describe the layer in ``repr``.

        Returns
        -------
        str
            The sizes.
        """
        return f"{self.in_features}, {self.n_classes}"


class AdaptiveSoftmax(SoftmaxLayer):
    """Predict a class by a softmax over the frequent classes and over clusters of the rare ones.

    :class:`torch.nn.AdaptiveLogSoftmaxWithLoss`, with the methods of :class:`FullSoftmax`. The classes must be sorted
    by descending frequency. By default clusters begin at a fifth and at half of the classes.
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
        if n_classes < 2:
            raise ValueError(f"AdaptiveSoftmax: n_classes must be 2 or more, got {n_classes}.")
        if cutoffs is None:
            cutoffs = sorted({max(1, n_classes // 5), max(1, n_classes // 2)})
        self.in_features = in_features
        self.n_classes = n_classes
        # Each cluster has at least a quarter of the columns of the one before, and the last has at least one.
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

    def forward(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:  # noqa: A002 - torch's name
        """Compute the log-probabilities of the target classes, and the loss."""
        if len(input) == 0:
            log_probs = at_least_float32(input).sum(dim=1)
        else:
            log_probs = at_least_float32(self._without_autocast(lambda rows: self.layer(rows, target).output, input))
        return log_probs, -log_probs.mean()

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes."""
        return at_least_float32(self._without_autocast(self.layer.log_prob, input))

    def _without_autocast(self, work: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """Run torch's layer, which mixes dtypes under autocast, in the dtype of its weight."""
        if not torch.is_autocast_enabled(rows.device.type):
            return work(rows)
        with torch.autocast(rows.device.type, enabled=False):
            return work(rows.to(self.layer.head.weight.dtype))
