"""Averages of the vectors of words before a window: a bag of words as input of a language model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sklearn_hashnlp.kernels.embeddings._weighted_averages import average_rows, average_rows_gradient
from sklearn_hashnlp.nn._autograd import kernels_apply, sparse_gradient
from sklearn_hashnlp.nn._word_embeddings import WordTable

_HALF_LIVES = (None, 3.0)  # number of words after which the weight halves, for each average; None is constant
_SCALE = 4.0  # chosen empirically: the average of many vectors is short and learns slowly


class WordAverages(nn.Module):
    """Two averages of the vectors of words: equally weighted, and with larger weights of later words."""

    weights: Tensor

    def __init__(
        self,
        n_words: int,
        padding_id: int | None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        distance = torch.arange(n_words - 1, -1, -1, dtype=torch.float32, device=device)
        rows = [torch.ones_like(distance) if life is None else 0.5 ** (distance / life) for life in _HALF_LIVES]
        self.padding_id = padding_id
        self.n_averages = len(rows)
        self.register_buffer("weights", torch.stack(rows).to(dtype or torch.float32), persistent=False)

    def forward(
        self,
        embedding: nn.Module,
        words: Tensor,  # (rows, n_words) or (rows, n_words, width)
    ) -> Tensor:  # (rows, n_averages * embedding_dim)
        """Average the vectors of words that are not padding; zeros if there are none."""
        ids = words if words.dim() == 2 else words[..., 0]
        is_padding = torch.zeros_like(ids, dtype=torch.bool) if self.padding_id is None else ids == self.padding_id
        if isinstance(embedding, WordTable):
            table, rows = embedding.weight, ids
        else:  # each distinct word once
            distinct, rows = torch.unique(ids, return_inverse=True)
            table = embedding(_first_of_each(words, rows, len(distinct)))
        rows = rows.masked_fill(is_padding, -1)
        if kernels_apply(table):
            is_sparse = isinstance(embedding, WordTable) and embedding.sparse
            averages: Tensor = _Average.apply(table, rows, self.weights, is_sparse)  # type: ignore[no-untyped-call]  # torch has no types for it
        else:
            averages = _average(table, rows, self.weights.to(table.dtype))
        return (averages * _SCALE).flatten(1)


def _first_of_each(words: Tensor, indices: Tensor, n_distinct: int) -> Tensor:
    """Return one word for each index."""
    flat = words.reshape(indices.numel(), -1)
    chosen = flat.new_empty((n_distinct, flat.shape[1]))
    chosen[indices.reshape(-1)] = flat
    return chosen if words.dim() == 3 else chosen.squeeze(1)


def _average(table: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    shares = weights * (rows >= 0).unsqueeze(1)  # (groups, n_averages, width)
    shares = shares / shares.sum(dim=2, keepdim=True).clamp_min(torch.finfo(table.dtype).tiny)
    return shares @ table[rows.clamp_min(0)]


class _Average(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor, weights: Tensor, sparse: bool) -> Tensor:
        ctx.save_for_backward(rows, weights)  # lets torch detect changes before the backward pass
        averages, ctx.scales = average_rows(table.detach().numpy(), rows.numpy(), weights.numpy())
        ctx.shape, ctx.sparse = table.shape, sparse
        return torch.from_numpy(averages)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weights = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: the gradient must be differentiable
            mask = (rows >= 0).unsqueeze(1)
            factors = weights.to(gradient.dtype) * torch.from_numpy(ctx.scales).unsqueeze(2) * mask
            values = (factors.unsqueeze(3) * gradient.unsqueeze(2)).sum(dim=1).flatten(0, 1)
            dense = gradient.new_zeros(ctx.shape).index_add(0, rows.clamp_min(0).flatten(), values)
            return dense, None, None, None
        distinct, sums = average_rows_gradient(
            gradient.detach().contiguous().numpy(), rows.numpy(), weights.numpy(), ctx.scales, ctx.shape[0]
        )
        indices, values = torch.from_numpy(distinct), torch.from_numpy(sums)
        if ctx.sparse:
            return sparse_gradient(indices, values, ctx.shape), None, None, None
        return gradient.new_zeros(ctx.shape).index_copy_(0, indices, values), None, None, None
