"""Word embeddings: tables, averages, linear layers over projections, locality-sensitive hashing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, integer
from sklearn_hashnlp.kernels._rows import average_rows, average_rows_gradient, sum_rows
from sklearn_hashnlp.nn._tensors import kernels_apply, row_gradient


class WordTable(nn.Embedding):
    """:class:`torch.nn.Embedding` with coalesced sparse gradients on the CPU."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the vectors of words."""
        if self.sparse and kernels_apply(self.weight):
            # torch has no types for it
            vectors: Tensor = _Lookup.apply(self.weight, input)  # type: ignore[no-untyped-call]
            return vectors
        return functional.embedding(input, self.weight, sparse=self.sparse)


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)  # lets torch detect changes before the backward pass
        ctx.shape = table.shape
        return functional.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        ids, values = ctx.saved_tensors[0].reshape(-1), gradient.reshape(-1, ctx.shape[1])
        if torch.is_grad_enabled():  # create_graph=True: the gradient must be differentiable
            return gradient.new_zeros(ctx.shape).index_add(0, ids, values), None
        rows, sums = sum_rows(
            ids.numpy().astype(np.int32), values.detach().contiguous().numpy(), ctx.shape[0]
        )
        return row_gradient(rows, sums, ctx.shape), None


_STD = 0.1  # initial standard deviation of the elements of a vector, as for a table


class ProjectedEmbedding(nn.Module):
    """A learned linear layer over the bits of a word's projection, read as signs."""

    signs_of_byte: Tensor

    def __init__(self, n_bits: int, embedding_dim: int) -> None:
        super().__init__()
        check_parameters(
            "ProjectedEmbedding", {"n_bits": integer(), "embedding_dim": integer()}, locals()
        )
        self.n_bits = n_bits
        self.linear = nn.Linear(n_bits, embedding_dim, bias=False)
        nn.init.normal_(self.linear.weight, std=_STD)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
        signs = (2 * bits.astype(np.float32) - 1) / np.float32(math.sqrt(n_bits))
        self.register_buffer("signs_of_byte", torch.from_numpy(signs), persistent=False)

    def forward(
        self,
        # (..., 1 + ceil(n_bits / 64)): an id, and the bits in numbers of 64 bits each
        words: Tensor,
    ) -> Tensor:  # (..., embedding_dim)
        """Compute the vectors of words; on the CPU once for each distinct word."""
        width = 1 + -(-self.n_bits // 64)
        if words.shape[-1] != width:
            raise ValueError(
                f"ProjectedEmbedding: words must have an id and {self.n_bits} bits in {width} "
                f"numbers of 64 bits each, got {words.shape[-1]}."
            )
        rows = words.reshape(-1, width)
        distinct, indices = (rows, None) if rows.device.type != "cpu" else _distinct(rows)
        packed = distinct[:, 1:].contiguous().view(torch.uint8)
        signs = functional.embedding(packed.int(), self.signs_of_byte).flatten(1)[:, : self.n_bits]
        vectors: Tensor = self.linear(signs)
        if indices is not None:
            vectors = functional.embedding(indices, vectors)
        return vectors.view(*words.shape[:-1], -1)


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the distinct rows and the index of each row; all rows if the ids are not unique."""
    array = rows.numpy()
    _, first_rows, indices = np.unique(array[:, 0], return_index=True, return_inverse=True)
    distinct = array[first_rows]
    if not np.array_equal(distinct[indices], array):
        return rows, None
    return torch.from_numpy(distinct), torch.from_numpy(indices)


# 2^64 divided by the golden ratio, as a signed number (Knuth, 1973, section 6.4)
_MULTIPLIER = -0x61C8864680B583EB


class LSHEmbedding(nn.Module):
    """Embed words by locality-sensitive hashing: projection bits select a row from each table.

    Two words with angle a between their n-gram counts share a bucket with probability
    (1 - a / pi)^table_bits (Charikar, 2002, section 3): words of similar spelling share most rows
    and other words none, so each word can learn its own vector without a vocabulary.
    """

    def __init__(
        self, n_tables: int, table_bits: int, embedding_dim: int, key_bits: int | None = None
    ) -> None:
        super().__init__()
        self.n_tables, self.table_bits = n_tables, table_bits
        self.key_bits = table_bits if key_bits is None else key_bits
        self.tables = nn.EmbeddingBag(
            n_tables << table_bits, embedding_dim, mode="sum", sparse=True
        )
        nn.init.zeros_(self.tables.weight)

    def forward(self, projections: Tensor) -> Tensor:
        """Return the vectors of (n_words, n_features) projections, bits or real numbers."""
        vectors: Tensor = self.tables(self.buckets(projections))
        return vectors

    def buckets(self, projections: Tensor) -> Tensor:
        """Return the (n_words, n_tables) rows of words; the first bit is the most significant."""
        n_bits = self.n_tables * self.key_bits
        if projections.shape[1] < n_bits:
            raise ValueError(
                f"LSHEmbedding: {self.n_tables} tables of {self.key_bits} bits need projections of "
                f"{n_bits} columns or more, got {projections.shape[1]}. Lower n_tables or "
                "table_bits."
            )
        bits = (projections[:, :n_bits] > 0).reshape(-1, self.n_tables, self.key_bits)
        shifts = torch.arange(self.key_bits - 1, -1, -1, device=bits.device)
        first_rows = torch.arange(self.n_tables, device=bits.device) << self.table_bits
        keys = (bits.long() << shifts).sum(dim=2)
        if self.key_bits > self.table_bits:
            # Multiplicative hashing: the highest bits of the product modulo 2^64. The shift copies
            # the sign.
            keys = ((keys * _MULTIPLIER) >> (64 - self.table_bits)) & ((1 << self.table_bits) - 1)
        return keys + first_rows


# number of words after which the weight halves, for each average; None is constant
_HALF_LIVES = (None, 3.0)
_SCALE = 4.0  # chosen empirically: the average of many vectors is short and learns slowly


class WordAverages(nn.Module):
    """Two averages of word vectors: equally weighted, and with larger weights of later words."""

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
        rows = [
            torch.ones_like(distance) if life is None else 0.5 ** (distance / life)
            for life in _HALF_LIVES
        ]
        self.padding_id = padding_id
        self.n_averages = len(rows)
        self.register_buffer(
            "weights", torch.stack(rows).to(dtype or torch.float32), persistent=False
        )

    def forward(
        self,
        embedding: nn.Module,
        words: Tensor,  # (rows, n_words) or (rows, n_words, width)
    ) -> Tensor:  # (rows, n_averages * embedding_dim)
        """Average the vectors of words that are not padding; zeros if there are none."""
        ids = words if words.dim() == 2 else words[..., 0]
        is_padding = (
            torch.zeros_like(ids, dtype=torch.bool)
            if self.padding_id is None
            else ids == self.padding_id
        )
        if isinstance(embedding, WordTable):
            table, rows = embedding.weight, ids
        else:  # each distinct word once
            distinct, rows = torch.unique(ids, return_inverse=True)
            chosen = words.new_empty((len(distinct), *words.shape[2:]))
            chosen[rows] = words
            table = embedding(chosen)
        rows = rows.masked_fill(is_padding, -1)
        if kernels_apply(table):
            is_sparse = isinstance(embedding, WordTable) and embedding.sparse
            # torch has no types for it
            averages: Tensor = _Average.apply(table, rows, self.weights, is_sparse)  # type: ignore[no-untyped-call]
        else:
            averages = _average(table, rows, self.weights.to(table.dtype))
        return (averages * _SCALE).flatten(1)


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
            gradient.detach().contiguous().numpy(),
            rows.numpy(),
            weights.numpy(),
            ctx.scales,
            ctx.shape[0],
        )
        return row_gradient(distinct, sums, ctx.shape, sparse=ctx.sparse), None, None, None
