"""The vectors of a sentence's words, pooled into one."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_POOLINGS = ("max", "mean", "attention", "weighted")


class WordPooling(nn.Module):
    """Make one unit vector of the vectors of a sentence's words.

    With v_i the vector of word i and w_i its weight, the sentence's vector has the direction of

    * ``"max"``: the largest value in each column;
    * ``"mean"``: sum_i v_i;
    * ``"weighted"``: sum_i w_i v_i;
    * ``"attention"``: sum_i w_i exp(u . v_i) v_i, where u is learned. It starts as zero, and so as ``"weighted"``.

    The words of a sentence whose weights are all zero count alike. A sentence without words is the zero vector.

    Parameters
    ----------
    width : int
        Columns of a vector.
    pooling : {"max", "mean", "attention", "weighted"}
        How.

    Attributes
    ----------
    score : torch.nn.Linear or None
        u, of attention.

    Raises
    ------
    ValueError
        If there is no such pooling.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn._word_pooling import WordPooling
    >>> vectors = torch.tensor([[[3.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])
    >>> WordPooling(2, "weighted")(vectors, torch.tensor([[True, True, False]]), torch.tensor([[1.0, 2.0, 0.0]]))
    tensor([[0.6000, 0.8000]])
    """

    def __init__(self, width: int, pooling: str) -> None:
        super().__init__()
        if pooling not in _POOLINGS:
            raise ValueError(f"pooling must be one of {_POOLINGS}, got {pooling!r}.")
        self.pooling = pooling
        self.score: nn.Linear | None = None
        if pooling == "attention":
            self.score = nn.Linear(width, 1, bias=False)
            nn.init.zeros_(self.score.weight)

    def forward(self, vectors: Tensor, there: Tensor, weights: Tensor) -> Tensor:
        """Pool.

        Parameters
        ----------
        vectors : Tensor of shape (n_sentences, longest, width)
            The vectors of the words.
        there : Tensor of shape (n_sentences, longest), dtype bool
            Whether there is a word, and not padding.
        weights : Tensor of shape (n_sentences, longest)
            What each word counts, for attention and the weighted mean; not negative.

        Returns
        -------
        Tensor of shape (n_sentences, width)
            float32, or float64 for such vectors: unit rows, and zero for a sentence without words or one whose pool is
            zero.
        """
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
        """Give what part of a sentence each word is."""
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
        """Describe the module in ``repr``.

        Returns
        -------
        str
            How it pools.
        """
        return repr(self.pooling)
