"""A batch of sentences with their distinct words, and pooling over the words of a sentence."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional


class WordBatch(NamedTuple):
    """A batch of sentences, with each distinct word once.

    Parameters
    ----------
    projections : Tensor of shape (n_distinct, n_features), dtype float32 or uint8
        A row for each distinct word of the batch: the projection of its characters, or its bits, 0 and 1.
    words : Tensor of shape (n_sentences, longest), dtype int64
        The words of each sentence, as row indices of ``projections``; -1 is padding.
    weights : Tensor of shape (n_sentences, longest), dtype float32
        The weight of each word in the pooling; not negative, and 0 for padding.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import WordBatch
    >>> # a sentence of three words and one of one
    >>> words = torch.tensor([[0, 1, 0], [1, -1, -1]])
    >>> batch = WordBatch(torch.randn(2, 1120), words, (words >= 0).float())
    >>> batch.to("cpu").words.shape
    torch.Size([2, 3])
    """

    projections: Tensor
    words: Tensor
    weights: Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> WordBatch:
        """Move the batch to a device; ``non_blocking`` copies asynchronously, if the tensors are in pinned memory."""
        return WordBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in self))


class WordVectors(NamedTuple):
    """The vectors of words, from which a ``SentenceNetwork`` embeds sentences; None for a part that it has not."""

    spelling: Tensor | None  # (n_words, projection_dim): the reduced projections of the words' characters
    context: Tensor | None  # (n_words, width): the input of the Transformer


Pooling: TypeAlias = Literal["max", "mean", "attention", "weighted"]


class WordPooling(nn.Module):
    """Pool the vectors of the words of a sentence into one unit vector."""

    def __init__(self, width: int, pooling: Pooling) -> None:
        super().__init__()
        if pooling not in get_args(Pooling):
            raise ValueError(f"pooling must be one of {get_args(Pooling)}, got {pooling!r}.")
        self.pooling = pooling
        self.score: nn.Linear | None = None
        if pooling == "attention":
            self.score = nn.Linear(width, 1, bias=False)
            nn.init.zeros_(self.score.weight)

    def forward(
        self,
        vectors: Tensor,  # (n_sentences, longest, width)
        mask: Tensor,  # (n_sentences, longest)
        weights: Tensor,  # (n_sentences, longest)
    ) -> Tensor:  # (n_sentences, width)
        """Pool the words in the mask; the vector of a sentence without words is zero."""
        if not vectors.shape[1]:
            pooled = vectors.sum(dim=1)
        elif self.pooling == "max":
            pooled = vectors.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(dim=1)
        else:
            pooled = torch.bmm(self._word_weights(vectors, mask, weights).unsqueeze(1), vectors).squeeze(1)
        pooled = pooled.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
        if pooled.dtype != torch.float64:
            pooled = pooled.float()  # under autocast it has half precision
        return functional.normalize(pooled, dim=1)

    def _word_weights(self, vectors: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        """Return the weights of words, which sum to one in each sentence."""
        word_weights = mask.to(vectors.dtype)
        if self.pooling != "mean":
            word_weights = _known_weights(word_weights, weights)
        if self.score is not None:
            scores = self.score(vectors).squeeze(2)
            # Not minus infinity: the softmax of a sentence without words would be NaN.
            lowest = torch.finfo(scores.dtype).min
            word_weights = word_weights * scores.masked_fill(word_weights == 0, lowest).softmax(dim=1)
        return _normalize_sum(word_weights).to(vectors.dtype)

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return repr(self.pooling)


def pool_rows(
    vectors: Tensor,  # (n_distinct, width)
    words: Tensor,  # (n_sentences, longest): rows of the vectors, -1 for padding
    weights: Tensor,  # (n_sentences, longest)
) -> Tensor:  # (n_sentences, width)
    """Pool as ``WordPooling(width, "weighted")``, without copying the vector of each position."""
    if not len(vectors) or not words.shape[1]:
        return vectors.new_zeros(len(words), vectors.shape[1])
    shares = _normalize_sum(_known_weights((words >= 0).to(vectors.dtype), weights))
    pooled = functional.embedding_bag(words.clamp(min=0), vectors, per_sample_weights=shares, mode="sum")
    return functional.normalize(pooled if pooled.dtype == torch.float64 else pooled.float(), dim=1)


def _known_weights(mask: Tensor, weights: Tensor) -> Tensor:
    """Return the weights of words, or equal weights for a sentence with only zero weights."""
    weights = weights.to(mask.dtype) * mask
    return torch.where(weights.sum(dim=1, keepdim=True) > 0, weights, mask)


def _normalize_sum(weights: Tensor) -> Tensor:
    return weights / weights.sum(dim=1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
