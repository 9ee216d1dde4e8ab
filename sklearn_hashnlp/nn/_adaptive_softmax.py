"""Torch's adaptive softmax, with the methods of the hierarchical one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn._all_scores import AllScores
from sklearn_hashnlp.nn._plain_paths import in_full


class AdaptiveSoftmax(AllScores):
    """Predict a class by a small softmax over the frequent classes and over clusters of the rare ones.

    :class:`torch.nn.AdaptiveLogSoftmaxWithLoss` with the methods of :class:`HierarchicalSoftmax`, so that a network
    takes either as its output layer. Classes must be numbered by falling frequency.

    Parameters
    ----------
    in_features : int
        Columns of the input.
    n_classes : int
        Number of classes, at least 2.
    cutoffs : sequence of int, default=None
        The first class of each cluster, ascending; None is a fifth and a half of the classes, those that exist.
    device : torch.device or str, default=None
        Where the parameters are made.
    dtype : torch.dtype, default=None
        Of the parameters.

    Attributes
    ----------
    layer : torch.nn.AdaptiveLogSoftmaxWithLoss
        Torch's layer.

    Raises
    ------
    ValueError
        If there are fewer than two classes.

    References
    ----------
    .. [1] Grave, Joulin, Cissé, Grangier & Jégou (2017). Efficient softmax approximation for GPUs. ICML,
           arXiv:1609.04309.

    Examples
    --------
    >>> import torch
    >>> layer = AdaptiveSoftmax(16, 100)
    >>> log_probs, loss = layer(torch.randn(4, 16), torch.tensor([3, 7, 99, 3]))
    >>> log_probs.shape, loss.shape
    (torch.Size([4]), torch.Size([]))
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
        """
        if len(input) == 0:
            log_probs = in_full(input).sum(dim=1)
        else:
            log_probs = in_full(self._without_autocast(lambda rows: self.layer(rows, target).output, input))
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
        return in_full(self._without_autocast(self.layer.log_prob, input))

    def _without_autocast(self, work: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """Let torch's layer, which mixes up precisions under autocast, work in that of its weight."""
        if not torch.is_autocast_enabled(rows.device.type):
            return work(rows)
        with torch.autocast(rows.device.type, enabled=False):
            return work(rows.to(self.layer.head.weight.dtype))
