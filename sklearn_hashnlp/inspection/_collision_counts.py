"""Words that share something, counted with the hash functions of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.inspection._collision_statistics import Counted, Sizes
from sklearn_hashnlp.kernels._hash_ids import locate_ids
from sklearn_hashnlp.nn._hash_tables import VARIANTS
from sklearn_hashnlp.nn._hashing import hash_constants
from sklearn_hashnlp.text import HashingNgramVectorizer

N_COLUMNS = 2**31 - 1
"""Columns of a vectorizer that is to lose as little as it can."""

_LIMIT = 2**63  # of numbers that an int64 holds

# What is shared, by variant; of "paper", components in any order are shared no sooner than the rest.
SHARED = {"improved": ("embedding", "any order", "components"), "paper": ("embedding", "components")}


def count_trial(places: NDArray[np.int64]) -> Counted:
    """Count the words of one trial that share something."""
    ordered = np.sort(places)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    lengths = np.diff(ends, prepend=-1)
    pairs, sharing = int((lengths * (lengths - 1)).sum()) // 2, int(lengths[lengths > 1].sum())
    return Counted(1, pairs, pairs**2, sharing, sharing**2)


def count_embeddings(
    variant: str, sizes: Sizes, n_words: int, n_trials: int, sequence: np.random.SeedSequence
) -> dict[str, Counted]:
    """Count words that share rows of a hash embedding's tables, which are not made."""
    generator = np.random.default_rng(sequence)
    found = {what: Counted() for what in SHARED[variant]}
    for _ in range(n_trials):
        ids = generator.choice(N_COLUMNS, n_words, replace=False, shuffle=False)
        seed = int(generator.integers(2**63))
        for what, places in find_places(variant, sizes, ids, seed).items():
            found[what] = found[what].plus(count_trial(places))
    return found


def find_places(variant: str, sizes: Sizes, ids: NDArray[np.int64], seed: int) -> dict[str, NDArray[np.int64]]:
    """Return a number to what each word has: words share it where the numbers are equal."""
    constants = np.array(hash_constants(seed, sizes.n_hashes + 1), dtype=np.uint64)
    rows, slots = locate_ids(ids, constants, sizes.n_embeddings, sizes.n_buckets, VARIANTS.index(variant))
    rows_size, slots_sizes = [sizes.n_embeddings], [sizes.n_buckets] * sizes.n_hashes
    components = _join(list(slots.T), slots_sizes)
    if variant == "paper":
        return {"embedding": rows.astype(np.int64), "components": components}
    sorted_slots = list(np.sort(slots, axis=1).T)
    return {
        "embedding": _join([rows, *slots.T], rows_size + slots_sizes),
        "any order": _join([rows, *sorted_slots], rows_size + slots_sizes),
        "components": components,
    }


def _join(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Make one number of several, equal where all of them are."""
    joined, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, column_size in zip(columns, sizes, strict=True):
        if size * column_size >= _LIMIT:
            different, joined = np.unique(joined, return_inverse=True)
            size = len(different)
        joined = joined * column_size + column
        size *= column_size
    return joined


def count_columns(n_words: int, n_trials: int, sequence: np.random.SeedSequence) -> Counted:
    """Count words that :class:`HashingNgramVectorizer` puts into one of 2**31 - 1 columns."""
    generator = np.random.default_rng(sequence)
    vectorizer = HashingNgramVectorizer(n_features=N_COLUMNS, norm=None)
    counted = Counted()
    for _ in range(n_trials):
        words = _different_words(n_words, generator)
        counted = counted.plus(count_trial(vectorizer.transform(words).indices.astype(np.int64)))
    return counted


def _different_words(n_words: int, generator: np.random.Generator) -> list[str]:
    """Draw hexadecimal numbers of sixteen digits."""
    words: set[str] = set()
    while len(words) < n_words:
        words |= {f"{value:016x}" for value in generator.integers(2**64, size=n_words - len(words), dtype=np.uint64)}
    return sorted(words)


def plan_trials(n_words: int, pairs_a_trial: float, *, pairs: int, max_words: int, least: int) -> int:
    """Return the number of trials it takes to count so many pairs."""
    return max(min(math.ceil(pairs / pairs_a_trial), max_words // n_words), least, 2)
