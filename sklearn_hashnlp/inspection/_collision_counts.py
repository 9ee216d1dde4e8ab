"""Count colliding words with the hash functions of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.inspection._collision_statistics import CollisionCounts, TableSizes
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.embeddings._tables import VARIANTS
from sklearn_hashnlp.text import HashingNgramVectorizer

N_COLUMNS = 2**31 - 1  # maximum number of columns of a vectorizer

_LIMIT = 2**63  # of int64

# Kinds of collisions by variant. In "paper", words that share a row and components in any order share their embedding.
KINDS = {"improved": ("embedding", "any order", "components"), "paper": ("embedding", "components")}


def count_collisions(ids: NDArray[np.int64]) -> CollisionCounts:
    """Count the words of one trial that have equal ids."""
    ordered = np.sort(ids)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    lengths = np.diff(ends, prepend=-1)
    pairs, sharing = int((lengths * (lengths - 1)).sum()) // 2, int(lengths[lengths > 1].sum())
    return CollisionCounts(1, pairs, pairs**2, sharing, sharing**2)


def count_in_embedding(
    variant: str, sizes: TableSizes, n_words: int, n_trials: int, sequence: np.random.SeedSequence
) -> dict[str, CollisionCounts]:
    """Count words that collide in a hash embedding, without allocating its tables."""
    generator = np.random.default_rng(sequence)
    counts = {kind: CollisionCounts() for kind in KINDS[variant]}
    for _ in range(n_trials):
        words = generator.choice(N_COLUMNS, n_words, replace=False, shuffle=False)
        seed = int(generator.integers(2**63))
        for kind, ids in embedding_ids(variant, sizes, words, seed).items():
            counts[kind] = counts[kind].plus(count_collisions(ids))
    return counts


def seeded_constants(sizes: TableSizes, seed: int) -> NDArray[np.uint64]:
    """Return the constants of the hash functions of a hash embedding."""
    return np.array(hash_constants(seed, sizes.n_hashes + 1), dtype=np.uint64)


def embedding_ids(variant: str, sizes: TableSizes, words: NDArray[np.int64], seed: int) -> dict[str, NDArray[np.int64]]:
    """Return an id of each word for each kind of collision; words with equal ids collide."""
    return ids_by_constants(variant, sizes, words, seeded_constants(sizes, seed))


def ids_by_constants(
    variant: str, sizes: TableSizes, words: NDArray[np.int64], constants: NDArray[np.uint64]
) -> dict[str, NDArray[np.int64]]:
    """Return the ids of :func:`embedding_ids` for given hash functions."""
    rows, slots = locate_ids(words, constants, sizes.n_embeddings, sizes.n_buckets, VARIANTS.index(variant))
    row_sizes, slot_sizes = [sizes.n_embeddings], [sizes.n_buckets] * sizes.n_hashes
    components = _combine(list(slots.T), slot_sizes)
    if variant == "paper":
        return {"embedding": rows.astype(np.int64), "components": components}
    sorted_slots = list(np.sort(slots, axis=1).T)
    return {
        "embedding": _combine([rows, *slots.T], row_sizes + slot_sizes),
        "any order": _combine([rows, *sorted_slots], row_sizes + slot_sizes),
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


def count_in_columns(n_words: int, n_trials: int, sequence: np.random.SeedSequence) -> CollisionCounts:
    """Count words that :class:`HashingNgramVectorizer` hashes to the same of 2**31 - 1 columns."""
    generator = np.random.default_rng(sequence)
    vectorizer = HashingNgramVectorizer(n_features=N_COLUMNS, norm=None)
    counts = CollisionCounts()
    for _ in range(n_trials):
        words = _random_words(n_words, generator)
        counts = counts.plus(count_collisions(vectorizer.transform(words).indices.astype(np.int64)))
    return counts


def _random_words(n_words: int, generator: np.random.Generator) -> list[str]:
    """Return distinct hexadecimal numbers of sixteen digits."""
    words: set[str] = set()
    while len(words) < n_words:
        words |= {f"{value:016x}" for value in generator.integers(2**64, size=n_words - len(words), dtype=np.uint64)}
    return sorted(words)


def trials_needed(n_words: int, pairs_per_trial: float, *, pairs: int, max_words: int, min_trials: int) -> int:
    """Return the number of trials after which so many pairs are expected, within limits."""
    return max(min(math.ceil(pairs / pairs_per_trial), max_words // n_words), min_trials, 2)
