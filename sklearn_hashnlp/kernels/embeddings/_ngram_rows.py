"""The n-grams that end at each token of a sequence, hashed to rows of tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native

# the order of nn's SCHEMES
MULTIPLY_SHIFT = 0
MULTIPLICATIVE_XOR = 1
POLYNOMIAL = 2
NO_ID = -1  # no padding or no boundary; valid ids are not negative


class NgramTables(NamedTuple):
    """The tables of n-grams in one array of rows, by order and head, and their hash functions."""

    scheme: int  # ``MULTIPLY_SHIFT``, ``MULTIPLICATIVE_XOR`` or ``POLYNOMIAL``
    orders: NDArray[np.int64]  # (n_orders,): ascending
    n_heads: int  # tables of each order
    n_hashes: int  # rows of an n-gram in a table
    importance: bool  # whether an n-gram has a row of importance weights
    signs: bool
    sizes: NDArray[np.int64]  # (n_tables,): their rows
    starts: NDArray[np.int64]  # (n_tables,): their first rows
    # (n_tables, n_hashes + 2, 3): of hash functions; rows, importance, sign
    constants: NDArray[np.uint64]
    # (largest order,): of a token by its distance; or one number, the base
    multipliers: NDArray[np.int64]
    padding: int  # an id in no n-gram, or ``NO_ID``
    boundary: int  # an id that starts a new history, or ``NO_ID``


class NgramRows(NamedTuple):
    """The n-grams of all tokens and their rows, as the compiled bags read them."""

    signs: NDArray[np.float32]  # (n_ngrams,)
    rows: NDArray[np.int32]  # (n_ngrams,): of importance weights; empty without them
    slots: NDArray[np.int32]  # (n_ngrams, n_hashes): rows of vectors
    offsets: NDArray[np.int64]  # (n_bags + 1,): where the n-grams of each bag start


def locate_ngrams(
    ids: NDArray[np.int64],  # (n_sequences, time)
    starts: NDArray[np.bool_],  # (n_sequences, time): where a history starts; or (0, 0)
    first: int,  # first token of each sequence that has n-grams; those before are only history
    bag_per_table: bool,  # whether each table of a token has a bag, or the token has one
    tables: NgramTables,
) -> NgramRows:
    """Hash the n-grams that end at each token, none across padding, a boundary or a start."""
    signs, rows, slots, offsets = _native.locate_ngrams(ids, starts, first, bag_per_table, *tables)
    return NgramRows(signs, rows, slots.reshape(len(signs), tables.n_hashes), offsets)
