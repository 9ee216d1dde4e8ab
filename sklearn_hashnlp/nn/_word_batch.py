"""Words of a batch of sentences, and pooling over them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class WordBatch(NamedTuple):
    """A batch of sentences that holds each different word once.

    Attributes
    ----------
    projections : Tensor of shape (n_different, n_features), dtype float32 or uint8
        A row for each different word of the batch: a projection of its characters, or its bits, 0 and 1.
    words : Tensor of shape (n_sentences, longest), dtype int64
        The words of each sentence as row numbers in ``projections``; -1 is padding.
    weights : Tensor of shape (n_sentences, longest), dtype float32
        How much each word counts when a sentence is pooled, not negative; 0 at padding.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import WordBatch
    >>> words = torch.tensor([[0, 1, 0], [1, -1, -1]])  # a sentence of three words and one of one
    >>> batch = WordBatch(torch.randn(2, 1120), words, (words >= 0).float())
    >>> batch.to("cpu").words.shape
    torch.Size([2, 3])
    """

    projections: Tensor
    words: Tensor
    weights: Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> WordBatch:
        """Move all three tensors.

        Parameters
        ----------
        device : torch.device or str
            Where to.
        non_blocking : bool, default=False
            Whether not to wait for the copy, where the tensors are in pinned memory.

        Returns
        -------
        WordBatch
            The batch there.
        """
        return WordBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in self))


_POOLINGS = ("max", "mean", "attention", "weighted")


class WordPooling(nn.Module):
    """Make one unit vector of the vectors of a sentence's words."""

    def __init__(self, width: int, pooling: str) -> None:
        super().__init__()
        if pooling not in _POOLINGS:
            raise ValueError(f"pooling must be one of {_POOLINGS}, got {pooling!r}.")
        self.pooling = pooling
        self.score: nn.Linear | None = None
        if pooling == "attention":
            self.score = nn.Linear(width, 1, bias=False)
            nn.init.zeros_(self.score.weight)

    def forward(
        self,
        vectors: Tensor,  # (n_sentences, longest, width)
        there: Tensor,  # (n_sentences, longest)
        weights: Tensor,  # (n_sentences, longest)
    ) -> Tensor:  # (n_sentences, width)
        """Pool."""
        if not vectors.shape[1]:
            pooled = vectors.sum(dim=1)
        elif self.pooling == "max":
            pooled = vectors.masked_fill(~there.unsqueeze(2), -torch.inf).amax(dim=1)
        else:
            pooled = torch.bmm(self._shares(vectors, there, weights).unsqueeze(1), vectors).squeeze(1)
        pooled = pooled.masked_fill(~there.any(dim=1, keepdim=True), 0.0)
        if pooled.dtype != torch.float64:
            pooled = pooled.float()  # autocast leaves half precision here
        return functional.normalize(pooled, dim=1)

    def _shares(self, vectors: Tensor, there: Tensor, weights: Tensor) -> Tensor:
        """Return what part of a sentence each word is."""
        shares = there.to(vectors.dtype)
        if self.pooling != "mean":
            weights = weights.to(vectors.dtype) * shares
            shares = torch.where(weights.sum(dim=1, keepdim=True) > 0, weights, shares)
        if self.score is not None:
            scores = self.score(vectors).squeeze(2)
            # The lowest number and not minus infinity: a sentence without words has no other score.
            lowest = torch.finfo(scores.dtype).min
            shares = shares * scores.masked_fill(shares == 0, lowest).softmax(dim=1)
        return (shares / shares.sum(dim=1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny)).to(vectors.dtype)

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return repr(self.pooling)
