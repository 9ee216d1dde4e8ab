"""Expected and counted collisions of words in a hash embedding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.embeddings._tables import VARIANTS

N_COLUMNS = 2**31 - 1  # maximum number of columns of a vectorizer

_LIMIT = 2**63  # of int64


class TableSizes(NamedTuple):
    """Sizes of the tables of a hash embedding."""

    n_embeddings: int  # n: rows of the importance table
    n_buckets: int  # B: component vectors
    n_hashes: int  # k: component vectors of a word


def pair_probability(variant: str, kind: str, sizes: TableSizes) -> float:
    """Return the probability that two words collide in their embedding or their components."""
    n_choices: int = sizes.n_buckets**sizes.n_hashes
    row, choice = 1 / sizes.n_embeddings, 1 / n_choices
    if variant == "improved":
        return choice if kind == "components" else 1 / (sizes.n_embeddings * n_choices)
    return row + (1 - row) * choice if kind == "components" else row


def expected_pairs(n_words: int, probability: float) -> float:
    """Return the expected number of colliding pairs of words."""
    return n_words * (n_words - 1) / 2 * probability


def sharing_probability(n_words: int, probability: float) -> float:
    """Return the probability that a word collides with any other, as if pairs were independent."""
    n_others = max(n_words - 1, 0)
    return (
        -math.expm1(n_others * math.log1p(-probability)) if probability < 1 else float(n_others > 0)
    )


def count_collisions(ids: NDArray[np.int64]) -> tuple[int, int]:
    """Count the pairs of equal ids, and the ids that are equal to another."""
    ordered = np.sort(ids)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    lengths = np.diff(ends, prepend=-1)
    return int((lengths * (lengths - 1)).sum()) // 2, int(lengths[lengths > 1].sum())


def seeded_constants(sizes: TableSizes, seed: int) -> NDArray[np.uint64]:
    """Return the constants of the hash functions of a hash embedding."""
    return np.array(hash_constants(seed, sizes.n_hashes + 1), dtype=np.uint64)


def ids_by_constants(
    variant: str, sizes: TableSizes, words: NDArray[np.int64], constants: NDArray[np.uint64]
) -> dict[str, NDArray[np.int64]]:
    """Return an id of each word for each kind of collision; words with equal ids collide."""
    rows, slots = locate_ids(
        words, constants, sizes.n_embeddings, sizes.n_buckets, VARIANTS.index(variant)
    )
    slot_sizes = [sizes.n_buckets] * sizes.n_hashes
    components = _combine(list(slots.T), slot_sizes)
    if variant == "paper":
        return {"embedding": rows.astype(np.int64), "components": components}
    return {
        "embedding": _combine([rows, *slots.T], [sizes.n_embeddings, *slot_sizes]),
        "components": components,
    }


def _combine(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Combine columns into one column of ids, which are equal if all columns are."""
    combined, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, column_size in zip(columns, sizes, strict=True):
        if size * column_size >= _LIMIT:
            distinct, combined = np.unique(combined, return_inverse=True)
            size = len(distinct)
        combined = combined * column_size + column
        size *= column_size
    return combined
