"""The n-grams that end at each token of a sequence, hashed to rows of tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, inner
from sklearn_hashnlp.kernels._hashes import GAMMA, mix_word
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, slot_of

MULTIPLY_SHIFT, MULTIPLICATIVE_XOR, POLYNOMIAL = 0, 1, 2  # the order of nn's SCHEMES
NO_ID = -1  # no padding or no boundary; valid ids are not negative

_HALF, _LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)


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
    """The n-grams of all tokens and their rows, as the compiled bags read them."""

    signs: NDArray[np.float32]  # (n_ngrams,)
    rows: NDArray[np.int32]  # (n_ngrams,): of importance weights; empty without them
    slots: NDArray[np.int32]  # (n_ngrams, n_hashes): rows of vectors
    offsets: NDArray[np.int64]  # (n_bags + 1,): where the n-grams of each bag start


@inlined
def _slot(mixed: Number, high: Number, constants: NDArray[np.uint64], size: Number) -> Number:
    return slot_of(mixed, constants[0], constants[1] + constants[2] * high, np.uint64(size))


@inner
def _published_row(tables: NgramTables, ids: NDArray[np.int64], last: Number, order: Number, size: Number) -> Number:
    """Return the row of the n-gram that ends at a token, by a published scheme."""
    row = np.int64(0)
    if tables.scheme == MULTIPLICATIVE_XOR:
        for j in range(order):
            row ^= ids[last - j] * tables.multipliers[j]
        return row % size
    for j in range(order - 1, -1, -1):  # Horner's rule, modulo the size
        row = (row * (tables.multipliers[0] % size) + ids[last - j] % size) % size
    return row


@compiled
def locate_ngrams(
    ids: NDArray[np.int64],  # (n_sequences, time)
    starts: NDArray[np.bool_],  # (n_sequences, time): where a history starts; or (0, 0)
    first: int,  # first token of each sequence that has n-grams; those before are only history
    bag_per_table: bool,  # whether each table of a token has a bag, or the token has one
    tables: NgramTables,
) -> NgramRows:
    """Hash the n-grams that end at each token; a history does not reach over padding, a boundary or a start."""
    n_sequences, time = ids.shape
    n_tables, n_hashes, n_heads = len(tables.sizes), tables.n_hashes, tables.n_heads
    n_tokens, largest = n_sequences * (time - first), tables.orders[-1]
    n_cells = n_tokens * n_tables
    slots = in_huge_pages(np.empty((n_cells, n_hashes), np.int32))
    rows = in_huge_pages(np.empty(n_cells if tables.importance else 0, np.int32))
    signs = np.ones(n_cells, np.float32)
    offsets = np.zeros((n_cells if bag_per_table else n_tokens) + 1, np.int64)
    n, position = 0, 0
    for sequence in range(n_sequences):
        tokens, reach = ids[sequence], 0
        for t in range(time):
            is_start = tokens[t] == tables.boundary or (len(starts) > 0 and starts[sequence, t])
            reach = 1 if is_start else min(reach + 1, largest)
            if tokens[t] == tables.padding:
                reach = 0
            if t < first:
                continue
            key, length, high, mixed = np.uint64(tokens[t]), 1, np.uint64(0), np.uint64(0)
            for table in range(n_tables):
                order = tables.orders[table // n_heads]
                if order <= reach:
                    size, start, constants = tables.sizes[table], tables.starts[table], tables.constants[table]
                    if tables.scheme == MULTIPLY_SHIFT:
                        while length < order:
                            key = mix_word(key + GAMMA) + np.uint64(tokens[t - length])
                            length += 1
                        if table % n_heads == 0:
                            high = np.uint64(mix_id(key >> _HALF))
                            mixed = np.uint64(mix_id((key & _LOW_HALF) ^ high))
                        for i in range(n_hashes):
                            slots[n, i] = start + _slot(mixed, high, constants[i], size)
                        if tables.importance:
                            rows[n] = start + _slot(mixed, high, constants[n_hashes], size)
                        if tables.signs and _slot(mixed, high, constants[n_hashes + 1], 2):
                            signs[n] = -1
                    else:
                        slots[n, 0] = start + _published_row(tables, tokens, t, order, size)
                    n += 1
                if bag_per_table:
                    offsets[position * n_tables + table + 1] = n
            position += 1
            if not bag_per_table:
                offsets[position] = n
    return NgramRows(signs[:n], rows[:n], slots[:n], offsets)
