"""The n-grams that end at each token of a sequence, hashed to rows of tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, inner
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, slot_of

MULTIPLY_SHIFT, MULTIPLICATIVE_XOR, POLYNOMIAL = 0, 1, 2  # the order of nn's SCHEMES
NO_ID = -1  # no padding or no boundary; valid ids are not negative

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S_27, _S_30, _S_31, _S_32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW_32 = np.uint64(2**32 - 1)


class NgramTables(NamedTuple):
    """The tables of n-grams in one array of rows, ordered by order and head, and their hash functions."""

    scheme: int  # ``MULTIPLY_SHIFT``, ``MULTIPLICATIVE_XOR`` or ``POLYNOMIAL``
    orders: NDArray[np.int64]  # (n_orders,): ascending
    n_heads: int  # tables of each order
    n_hashes: int  # rows of an n-gram in a table
    importance: bool  # whether an n-gram has a row of importance weights
    signs: bool
    sizes: NDArray[np.int64]  # (n_tables,): their rows
    starts: NDArray[np.int64]  # (n_tables,): their first rows
    constants: NDArray[np.uint64]  # (n_tables, n_hashes + 2, 3): of hash functions; rows, importance, sign
    multipliers: NDArray[np.int64]  # (largest order,): of a token by its distance; or one number, the base
    padding: int  # an id in no n-gram, or ``NO_ID``
    boundary: int  # an id that starts a new history, or ``NO_ID``


class NgramRows(NamedTuple):
    """The n-grams of all tokens, those of a token together."""

    slots: NDArray[np.int32]  # (n_ngrams, n_hashes)
    rows: NDArray[np.int32]  # (n_ngrams,): of importance weights; the slots without them
    signs: NDArray[np.float32]  # (n_ngrams,)
    counts: NDArray[np.int32]  # (n_tokens * n_tables,): 1 where there is such an n-gram, else 0


@inlined
def _mix_64(key: Number) -> Number:
    """Mix a key by SplitMix64, to which another token is then added."""
    z = key + _GAMMA
    z = (z ^ (z >> _S_30)) * _FIRST
    z = (z ^ (z >> _S_27)) * _SECOND
    return z ^ (z >> _S_31)


@inner
def _remainder_of_polynomial(ids: NDArray[np.int64], last: Number, order: Number, base: Number, size: Number) -> Number:
    # Horner's rule from the oldest token, each step modulo the size: sum_j ids[last - j] * base**j mod size.
    value = np.int64(0)
    for j in range(order - 1, -1, -1):
        value = (value * (base % size) + ids[last - j] % size) % size
    return value


@compiled
def locate_ngrams(
    ids: NDArray[np.int64],  # (n_sequences, time)
    starts: NDArray[np.bool_],  # (n_sequences, time): where a history starts; or (0, 0)
    first: int,  # first token of each sequence that has n-grams; those before are only history
    tables: NgramTables,
) -> NgramRows:
    """Hash the n-grams that end at each token; a history does not reach over padding, a boundary or a start."""
    n_sequences, time = ids.shape
    n_tables, n_hashes, n_heads = len(tables.sizes), tables.n_hashes, tables.n_heads
    largest, n_tokens = tables.orders[-1], n_sequences * (time - first)
    slots = in_huge_pages(np.empty((n_tokens * n_tables, n_hashes), np.int32))
    rows = in_huge_pages(np.empty(n_tokens * n_tables if tables.importance else 0, np.int32))
    signs = np.empty(n_tokens * n_tables, np.float32)
    counts = np.zeros(n_tokens * n_tables, np.int32)
    n, cell = 0, 0
    for sequence in range(n_sequences):
        tokens, reach = ids[sequence], 0
        for t in range(time):
            token = tokens[t]
            is_start = token == tables.boundary or (len(starts) > 0 and starts[sequence, t])
            reach = 1 if is_start else min(reach + 1, largest)
            if token == tables.padding:
                reach = 0
            if t < first:
                continue
            key, length, hashed = np.uint64(token), 1, np.int64(0)
            for index in range(len(tables.orders)):
                order = tables.orders[index]
                if order > reach:
                    break
                if tables.scheme == MULTIPLY_SHIFT:
                    while length < order:
                        key = _mix_64(key) + np.uint64(tokens[t - length])
                        length += 1
                elif tables.scheme == MULTIPLICATIVE_XOR:
                    hashed = np.int64(0)
                    for j in range(order):
                        hashed ^= tokens[t - j] * tables.multipliers[j]
                high = np.uint64(mix_id(key >> _S_32))
                mixed = np.uint64(mix_id((key & _LOW_32) ^ high))
                for table in range(index * n_heads, (index + 1) * n_heads):
                    size, offset, c = tables.sizes[table], tables.starts[table], tables.constants[table]
                    if tables.scheme == MULTIPLY_SHIFT:
                        for i in range(n_hashes):
                            slot = slot_of(mixed, c[i, 0], c[i, 1] + c[i, 2] * high, np.uint64(size))
                            slots[n, i] = offset + slot
                        if tables.importance:
                            i = n_hashes
                            slot = slot_of(mixed, c[i, 0], c[i, 1] + c[i, 2] * high, np.uint64(size))
                            rows[n] = offset + slot
                    elif tables.scheme == MULTIPLICATIVE_XOR:
                        slots[n, 0] = offset + hashed % size
                    else:
                        slots[n, 0] = offset + _remainder_of_polynomial(tokens, t, order, tables.multipliers[0], size)
                    signs[n] = 1
                    if tables.signs:
                        i = n_hashes + 1
                        if slot_of(mixed, c[i, 0], c[i, 1] + c[i, 2] * high, np.uint64(2)):
                            signs[n] = -1
                    counts[cell + table] = 1
                    n += 1
            cell += n_tables
    return NgramRows(slots[:n], rows[:n], signs[:n], counts)
