"""Softmax layers over all classes, full and adaptive."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._tree_torch import in_full


class AllScores(nn.Module):
    """The half of an output layer that only needs :meth:`log_prob`."""

    n_classes: int  # number of classes

    @abstractmethod
    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Compute the log-probabilities of all classes, of shape (rows, n_classes)."""

    def predict(self, input: Tensor) -> Tensor:  # noqa: A002
        """Find the most probable class.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            A class for each row.
        """
        with torch.no_grad():
            return self.log_prob(input).argmax(dim=1)

    def topk(self, input: Tensor, k: int) -> tuple[Tensor, Tensor]:  # noqa: A002
        """Find the k most probable classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.
        k : int
            How many; 1 to ``n_classes``.

        Returns
        -------
        log_probs : Tensor of shape (rows, k)
            Descending; float32, or float64 for such an input.
        classes : Tensor of shape (rows, k), dtype int64
            Which class each is.

        Raises
        ------
        ValueError
            If there are not so many classes.
        """
        if not 1 <= k <= self.n_classes:
            raise ValueError(f"{type(self).__name__}: k must lie between 1 and the {self.n_classes} classes, got {k}.")
        with torch.no_grad():
            log_probs, classes = self.log_prob(input).topk(k, dim=1)
        return log_probs, classes

    def sample(self, input: Tensor, *, generator: torch.Generator | None = None) -> Tensor:  # noqa: A002
        """Draw a class for each row by its probability.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.
        generator : torch.Generator, default=None
            Source of the draw; None is torch's own.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            A class for each row.
        """
        with torch.no_grad():
            return torch.multinomial(self.log_prob(input).exp(), 1, generator=generator).squeeze(1)


class FullSoftmax(AllScores):
    """Predict a class by one score for each of them: what a hierarchical softmax is measured against.

    It has the methods of :class:`HierarchicalSoftmax`, so that a network takes either as its output layer. A row costs
    ``n_classes * in_features`` multiplications, in training as in prediction.

    Parameters
    ----------
    in_features : int
        Columns of the input.
    n_classes : int
        Number of classes; V in the papers.
    device : torch.device or str, default=None
        Where the parameters are made.
    dtype : torch.dtype, default=None
        Of the parameters.

    Attributes
    ----------
    weight : Parameter of shape (n_classes, in_features)
        One row a class. Starts uniform in +-1/sqrt(in_features), as in :class:`torch.nn.Linear`.
    bias : Parameter of shape (n_classes,)
        One value a class. Starts as the weight does.

    Raises
    ------
    ValueError
        If there is no class or no column.

    See Also
    --------
    HierarchicalSoftmax : Costs the length of a path in a tree instead of ``n_classes``.

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
        """Draw all parameters anew from torch's own random generator."""
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:  # noqa: A002 - torch's name for it
        """Compute the log-probabilities of given classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.
        target : Tensor of shape (rows,), dtype int64
            The class of each row.

        Returns
        -------
        log_probs : Tensor of shape (rows,)
            log P(target | input); float32, or float64 for such an input.
        loss : Tensor of shape ()
            Their mean with the sign turned; NaN if there are no rows.

        Raises
        ------
        ValueError
            If the target is not one class a row, or on the CPU, where looking costs no wait, out of range.
        """
        if target.shape != input.shape[:1]:
            raise ValueError(
                f"FullSoftmax: target must have shape ({input.shape[0]},), one class for each row of input, "
                f"got {tuple(target.shape)}."
            )
        if target.device.type == "cpu" and not torch.compiler.is_compiling() and target.numel():
            low, high = (int(end) for end in target.aminmax())
            if low < 0 or high >= self.n_classes:
                raise ValueError(
                    f"FullSoftmax: target must lie between 0 and {self.n_classes - 1}, got {low if low < 0 else high}."
                )
        log_probs = self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
        return log_probs, -log_probs.mean()

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.

        Returns
        -------
        Tensor of shape (rows, n_classes)
            float32, or float64 for such an input.
        """
        return functional.log_softmax(self._scores(input), dim=1)

    def _scores(self, rows: Tensor) -> Tensor:
        scores = functional.linear(rows, self.weight, self.bias)
        return scores if scores.dtype == torch.float64 else scores.float()  # autocast leaves half precision here

    def extra_repr(self) -> str:
        """Describe the layer in ``repr``.

        Returns
        -------
        str
            Its sizes.
        """
        return f"{self.in_features}, {self.n_classes}"


class AdaptiveSoftmax(AllScores):
    """Predict a class by a small softmax over the frequent classes and over clusters of the rare ones."""

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
        # Vectors of a cluster have a quarter of the columns of those of the one before, or more: the last need one.
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

    def forward(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:  # noqa: A002 - torch's name for it
        """Compute the log-probabilities of given classes."""
        if len(input) == 0:
            log_probs = in_full(input).sum(dim=1)
        else:
            log_probs = in_full(self._without_autocast(lambda rows: self.layer(rows, target).output, input))
        return log_probs, -log_probs.mean()

    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002
        """Compute the log-probabilities of all classes."""
        return in_full(self._without_autocast(self.layer.log_prob, input))

    def _without_autocast(self, work: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """Let torch's layer, which mixes up precisions under autocast, work in that of its weight."""
        if not torch.is_autocast_enabled(rows.device.type):
            return work(rows)
        with torch.autocast(rows.device.type, enabled=False):
            return work(rows.to(self.layer.head.weight.dtype))
