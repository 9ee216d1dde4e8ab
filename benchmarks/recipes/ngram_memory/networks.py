"""A small causal transformer with or without a memory of n-grams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn import NgramHashEmbedding

BOUNDARY = 0  # the id before each article
_HEAD_DIM = 64
_TAPS = 4  # of the convolution


@dataclass(frozen=True)
class Variant:
    """A network and its memory."""

    # With "dictionary", the most frequent n-grams have rows.
    memory: Literal["none", "hash", "dictionary"] = "hash"
    orders: tuple[int, ...] = (2, 3)
    rows: int = 2**17  # of each table
    heads: int = 1
    hashes: int = 1
    importance: bool = False
    signs: bool = False
    scheme: Literal["multiply_shift", "multiplicative_xor"] = "multiply_shift"
    primes: bool = False  # whether tables have the prime numbers of rows from ``rows`` on
    gate: bool = False
    convolution: bool = False
    place: int = 0  # blocks before the memory
    full_state: bool = False  # Adam, with two numbers for each element of a table
    learning_rate: float = 1e-3  # of AdamW, for a network of 256 columns
    table_lr: float = 1.0
    row_dim: int = 64
    dim: int = 256
    n_blocks: int = 3


class Block(nn.Module):
    """A transformer block: causal attention and two linear layers, each with a norm before it."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.n_heads = max(dim // _HEAD_DIM, 1)
        self.attention_norm, self.linear_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = (
            nn.Linear(dim, 4 * dim, bias=False),
            nn.Linear(4 * dim, dim, bias=False),
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the hidden states after the block, of shape (batch, time, dim)."""
        batch, length, dim = hidden.shape
        qkv = self.qkv(self.attention_norm(hidden)).view(
            batch, length, 3, self.n_heads, dim // self.n_heads
        )
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        hidden = hidden + self.out(attended.transpose(1, 2).reshape(batch, length, dim))
        output: Tensor = hidden + self.down(functional.gelu(self.up(self.linear_norm(hidden))))
        return output


class Transformer(nn.Module):
    """A causal transformer; a memory, if any, is added to the hidden states before one block."""

    def __init__(self, n_ids: int, context: int, variant: Variant) -> None:
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(n_ids, variant.dim),
            nn.Embedding(context, variant.dim),
        )
        self.blocks = nn.ModuleList([Block(variant.dim) for _ in range(variant.n_blocks)])
        self.norm, self.head = nn.RMSNorm(variant.dim), nn.Linear(variant.dim, n_ids, bias=False)
        self.place = variant.place
        self.memory: Memory | None = None
        nn.init.normal_(self.positions.weight, std=0.3)
        nn.init.zeros_(self.head.weight)
        for name, parameter in self.blocks.named_parameters():
            if parameter.dim() == 2:
                shrink = math.sqrt(2 * variant.n_blocks) if "out" in name or "down" in name else 1.0
                nn.init.normal_(parameter, std=0.02 / shrink)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the scores of the next token, of shape (batch, time, n_ids)."""
        hidden = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for index, block in enumerate(self.blocks):
            if self.memory is not None and index == self.place:
                hidden = self.memory(hidden, ids)
            hidden = block(hidden)
        scores: Tensor = self.head(self.norm(hidden))
        return scores


class Gate(nn.Module):
    """The share of the value of an n-gram that is added, from hidden state and vector."""

    def __init__(self, row_dim: int, dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(row_dim, dim, bias=False)
        self.hidden_norm, self.key_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)

    def forward(self, hidden: Tensor, vectors: Tensor) -> Tensor:
        """Return numbers from 0 to 1, of shape (batch, time, 1)."""
        products = self.hidden_norm(hidden.float()) * self.key_norm(self.key(vectors).float())
        return torch.sigmoid(products.sum(dim=-1, keepdim=True) / math.sqrt(hidden.shape[2]))


class Convolution(nn.Module):
    """A causal convolution of each column, initially zero, which does not reach over articles."""

    def __init__(self, dim: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.taps, self.norm = nn.Parameter(torch.zeros(_TAPS, dim)), nn.RMSNorm(dim)

    def forward(self, values: Tensor, ids: Tensor) -> Tensor:
        """Return the convolution of the values, of their shape."""
        values = self.norm(values.float())
        articles = (ids == BOUNDARY).cumsum(dim=1).unsqueeze(-1)
        total = values * self.taps[0]
        for index in range(1, _TAPS):
            distance = index * self.dilation
            same = articles[:, distance:] == articles[:, :-distance]
            total[:, distance:] += values[:, :-distance] * same * self.taps[index]
        return functional.silu(total)


class Memory(nn.Module):
    """Add hashed n-grams to hidden states, gated and convolved as in Engram (arXiv:2601.07372)."""

    def __init__(self, embedding: Any, variant: Variant) -> None:
        super().__init__()
        self.embedding = embedding
        self.value = nn.Linear(variant.row_dim, variant.dim, bias=False)
        self.gate = Gate(variant.row_dim, variant.dim) if variant.gate else None
        self.convolution = (
            Convolution(variant.dim, max(variant.orders)) if variant.convolution else None
        )

    def forward(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Return hidden states with the values of their n-grams, (batch, time, dim)."""
        vectors = self.embedding(ids)
        values = self.value(vectors)
        if self.gate is not None:
            values = values * self.gate(hidden, vectors)
        if self.convolution is not None:
            values = values + self.convolution(values, ids)
        output: Tensor = hidden + values.to(hidden.dtype)
        return output


class DictionaryEmbedding(nn.Module):
    """NgramHashEmbedding without collisions: only the most frequent n-grams have a row each."""

    def __init__(self, text: NDArray[np.int64], n_ids: int, variant: Variant) -> None:
        super().__init__()
        self.orders = variant.orders
        self.n_ids = n_ids
        self.keys = []
        for order in variant.orders:
            keys, counts = np.unique(
                ngram_keys(text, order, n_ids)[within_articles(text, order)], return_counts=True
            )
            self.keys.append(np.sort(keys[np.argsort(-counts, kind="stable")[: variant.rows]]))
        self.absent = sum(map(len, self.keys))  # a row that stays zero
        self.weight = nn.Parameter(torch.zeros(self.absent + 1, variant.row_dim))
        self.importance = None

    def forward(self, ids: Tensor) -> Tensor:
        """Return the sum of the rows of the n-grams of each token, (batch, time, row_dim)."""
        rows = np.full((len(self.keys), *ids.shape), self.absent)
        first = 0
        for row, order, keys in zip(rows, self.orders, self.keys, strict=True):
            if ids.shape[1] >= order:
                wanted = np.stack(
                    [ngram_keys(sequence, order, self.n_ids) for sequence in ids.numpy()]
                )
                exists = np.stack([within_articles(sequence, order) for sequence in ids.numpy()])
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                row[:, order - 1 :] = np.where(
                    exists & (keys[at] == wanted), first + at, self.absent
                )
            first += len(keys)
        vectors = functional.embedding(
            torch.from_numpy(rows), self.weight, sparse=True, padding_idx=self.absent
        )
        return vectors.sum(dim=0)


def ngram_keys(ids: NDArray[np.int64], order: int, n_ids: int) -> NDArray[np.int64]:
    """Return a different integer for each n-gram."""
    keys = np.zeros(max(len(ids) - order + 1, 0), dtype=np.int64)
    for start in range(order):
        keys = keys * n_ids + ids[start : start + len(keys)]
    return keys


def within_articles(ids: NDArray[np.int64], order: int) -> NDArray[np.bool_]:
    """Return whether each n-gram is in one article: only its first token may be the boundary."""
    n_ngrams = max(len(ids) - order + 1, 0)
    within = np.ones(n_ngrams, dtype=bool)
    for start in range(1, order):
        within &= ids[start : start + n_ngrams] != BOUNDARY
    return within


def make_memory(variant: Variant, text: NDArray[np.int64], n_ids: int, seed: int) -> Memory | None:
    """Build the memory of a variant; a dictionary counts the n-grams of the text."""
    if variant.memory == "none":
        return None
    n_tables = len(variant.orders) * variant.heads
    embedding: Any = NgramHashEmbedding(
        variant.rows if variant.primes else [variant.rows] * n_tables,
        variant.row_dim,
        orders=variant.orders,
        num_heads=variant.heads,
        num_hashes=variant.hashes,
        importance=variant.importance,
        signs=variant.signs,
        scheme=variant.scheme,
        boundary=BOUNDARY,
        seed=seed,
    )
    if variant.memory == "dictionary":
        embedding = DictionaryEmbedding(text, n_ids, variant)
    return Memory(embedding, variant)
