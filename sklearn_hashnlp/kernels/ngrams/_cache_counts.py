"""Counts of the recent words of a text, for a cache language model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


class CacheCounts(NamedTuple):
    """Counts among the recent words: of words, and of words after the same word as now."""

    words: NDArray[np.float64]  # of the word itself, or of every word
    n_words: NDArray[np.float64]  # of all words
    bigrams: NDArray[np.float64]  # of the last word and the word itself after it, or every word
    n_bigrams: NDArray[np.float64]  # of the last word and any word after it


def count_before(
    text: NDArray[np.int32],  # (n_words,)
    # (n_parts,): ascending; words before the start of their own part are not counted
    starts: NDArray[np.int64],
    n_ids: int,
    weights: NDArray[np.float64],  # (cache_size,): of a word by its distance, the last word's first
) -> CacheCounts:  # four arrays of shape (n_words,)
    """Count each word, and its pair with the word before it, among the earlier words of a text."""
    counts = CacheCounts(*(np.empty(len(text)) for _ in CacheCounts._fields))
    _native.count_before(text, starts, n_ids, weights, *counts)
    return counts


def count_contexts(
    # (n_contexts, width): the last word is the last; at most as long as ``weights``
    contexts: NDArray[np.int64],
    n_ids: int,  # ids from this on are padding
    weights: NDArray[np.float64],  # (cache_size,)
) -> CacheCounts:  # arrays of shape (n_contexts, n_ids) and, of all words, (n_contexts,)
    """Count every word, and every word after the last word, in each context."""
    n, shape = len(contexts), (len(contexts), n_ids)
    counts = CacheCounts(np.zeros(shape), np.empty(n), np.zeros(shape), np.empty(n))
    _native.count_contexts(np.ascontiguousarray(contexts), weights, *counts)
    return counts
