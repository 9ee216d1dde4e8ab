"""Counts of the recent words of a text, for a cache language model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages


class CacheCounts(NamedTuple):
    """Counts among the recent words: of words, and of words after the same word as now."""

    words: NDArray[np.float64]  # of the word itself, or of every word
    n_words: NDArray[np.float64]  # of all words
    bigrams: NDArray[np.float64]  # of the last word and the word itself after it, or every word
    n_bigrams: NDArray[np.float64]  # of the last word and any word after it


@compiled
def count_before(
    text: NDArray[np.int32],  # (n_words,)
    starts: NDArray[np.int64],  # (n_parts,): ascending; words before the start of their own part are not counted
    n_ids: int,
    weights: NDArray[np.float64],  # (cache_size,): of a word by its distance, the last word's first
) -> CacheCounts:  # four arrays of shape (n_words,)
    """Count each word of a text, and the pair of it and the word before, among the words before it."""
    words, n_words = np.zeros(len(text)), np.zeros(len(text))
    bigrams, n_bigrams = np.zeros(len(text)), np.zeros(len(text))
    sums = np.zeros(len(weights) + 1)
    sums[1:] = np.cumsum(weights)
    last, previous = np.full(n_ids, -1), np.empty(len(text), dtype=np.int64)
    # Only occurrences of the two words are visited: each has a link to the one before it.
    part, start = -1, 0
    for at in range(len(text)):
        while part + 1 < len(starts) and starts[part + 1] <= at:
            part += 1
            start = starts[part]
        begin = max(start, at - len(weights))
        n_words[at] = sums[at - begin]
        index = last[text[at]]
        while index >= begin:
            words[at] += weights[at - 1 - index]
            index = previous[index]
        if at > begin:
            index = previous[at - 1]
            while index >= begin:
                weight = weights[at - 2 - index]
                n_bigrams[at] += weight
                if text[index + 1] == text[at]:
                    bigrams[at] += weight
                index = previous[index]
        previous[at], last[text[at]] = last[text[at]], at
    return CacheCounts(words, n_words, bigrams, n_bigrams)


@compiled
def count_contexts(
    contexts: NDArray[np.int64],  # (n_contexts, width): the last word is the last; at most as long as ``weights``
    n_ids: int,  # ids from this on are padding
    weights: NDArray[np.float64],  # (cache_size,)
) -> CacheCounts:  # arrays of shape (n_contexts, n_ids) and, of all words, (n_contexts,)
    """Count every word, and every word after the last word, in each context."""
    shape = len(contexts), n_ids
    words, bigrams = in_huge_pages(np.empty(shape)), in_huge_pages(np.empty(shape))
    words[:], bigrams[:] = 0, 0
    n_words, n_bigrams = np.zeros(len(contexts)), np.zeros(len(contexts))
    width = contexts.shape[1]
    for row in range(len(contexts)):
        context = contexts[row]
        for column in range(width - 1, -1, -1):
            word, weight = context[column], weights[width - 1 - column]
            if word >= n_ids:
                break
            words[row, word] += weight
            n_words[row] += weight
            if column > 0 and context[column - 1] == context[width - 1]:
                bigrams[row, word] += weight
                n_bigrams[row] += weight
    return CacheCounts(words, n_words, bigrams, n_bigrams)
