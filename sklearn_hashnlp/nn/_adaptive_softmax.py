"""Torch's adaptive softmax, with the methods of the hierarchical one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn._all_scores import AllScores
from sklearn_hashnlp.nn._plain_paths import in_full


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
