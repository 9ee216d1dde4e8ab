"""Distinct n-grams of a text of word ids, sorted, and how often each occurs: order by order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages

MAX_TOKENS = 2**31 - 1  # positions and n-grams are numbered by int32


class NgramCounts(NamedTuple):
    """The distinct n-grams of one order, sorted by their first n - 1 words and then by the last."""

    words: NDArray[np.int32]  # (n_ngrams,): id of the last word
    parents: NDArray[np.int32]  # (n_ngrams,): index of the first n - 1 words among the n-grams of order n - 1
    suffixes: NDArray[np.int32]  # (n_ngrams,): index of the last n - 1 words among the n-grams of order n - 1
    counts: NDArray[np.int32]  # (n_ngrams,): occurrences


def sort_positions(text: NDArray[np.int32], n_words: int) -> NDArray[np.int32]:
    """Return the positions of the words 0 to n_words - 1, sorted by word; all other ids are separators."""
    if len(text) > MAX_TOKENS:
        raise ValueError(f"n-grams of at most {MAX_TOKENS} tokens can be counted, padding included; got {len(text)}.")
    return _sort_positions(text, n_words)


@compiled
def extend_ngrams(
    text: NDArray[np.int32],  # (n_tokens,): word ids
    is_counted: NDArray[np.bool_],  # (n_tokens,): whether an occurrence that ends here counts
    positions: NDArray[np.int32],  # (n_positions,): of sort_positions; the last words of n-grams of order 2 and more
    shorter: NDArray[np.int32],  # (n_tokens,): index of the n-gram of order n - 1 that ends here, or -1
    n_shorter: int,
) -> tuple[NgramCounts, NDArray[np.int32]]:
    """Count the n-grams of order n, and return the index of the one that ends at each position, or -1."""
    # Radix sort: the positions are sorted by word, and are now distributed over the first n - 1 words.
    longer = in_huge_pages(np.empty(len(text), np.int32))
    longer[:] = -1
    n = len(positions)
    words, parents = in_huge_pages(np.empty(n, np.int32)), in_huge_pages(np.empty(n, np.int32))
    suffixes, counts = in_huge_pages(np.empty(n, np.int32)), in_huge_pages(np.empty(n, np.int32))
    starts = np.zeros(n_shorter + 1, dtype=np.int64)
    for position in positions:
        if position > 0 and shorter[position - 1] >= 0:
            starts[shorter[position - 1] + 1] += 1
    for parent in range(n_shorter):
        starts[parent + 1] += starts[parent]
    ordered = np.empty(starts[n_shorter], dtype=np.int32)
    for position in positions:
        if position > 0 and shorter[position - 1] >= 0:
            parent = shorter[position - 1]
            ordered[starts[parent]] = position
            starts[parent] += 1
    last = -1
    for position in ordered:
        parent, word = shorter[position - 1], text[position]
        if last < 0 or parents[last] != parent or words[last] != word:
            last += 1
            words[last] = word
            parents[last] = parent
            suffixes[last] = shorter[position]
            counts[last] = 0
        counts[last] += np.int32(is_counted[position])
        longer[position] = last
    size = last + 1
    return NgramCounts(words[:size].copy(), parents[:size].copy(), suffixes[:size].copy(), counts[:size].copy()), longer


@compiled
def _sort_positions(text: NDArray[np.int32], n_words: Number) -> NDArray[np.int32]:
    starts = np.zeros(n_words + 1, dtype=np.int64)
    for word in text:
        if 0 <= word < n_words:
            starts[word + 1] += 1
    for word in range(n_words):
        starts[word + 1] += starts[word]
    positions = np.empty(starts[n_words], dtype=np.int32)
    for position in range(len(text)):
        word = text[position]
        if 0 <= word < n_words:
            positions[starts[word]] = position
            starts[word] += 1
    return positions
