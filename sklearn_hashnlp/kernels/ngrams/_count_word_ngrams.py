"""Distinct n-grams of a text of word ids, sorted, and how often each occurs: order by order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native

MAX_TOKENS = 2**31 - 1  # positions and n-grams are numbered by int32


class NgramCounts(NamedTuple):
    """The distinct n-grams of one order, sorted by their first n - 1 words and then by the last."""

    words: NDArray[np.int32]  # (n_ngrams,): id of the last word
    # (n_ngrams,): index of the first n - 1 words among the n-grams of order n - 1
    parents: NDArray[np.int32]
    # (n_ngrams,): index of the last n - 1 words among the n-grams of order n - 1
    suffixes: NDArray[np.int32]
    counts: NDArray[np.int32]  # (n_ngrams,): occurrences


def sort_positions(text: NDArray[np.int32], n_words: int) -> NDArray[np.int32]:
    """Return the positions of words 0 to n_words - 1, sorted by word; other ids are separators."""
    if len(text) > MAX_TOKENS:
        raise ValueError(
            f"n-grams of at most {MAX_TOKENS} tokens can be counted, padding included; got "
            f"{len(text)}."
        )
    return _native.sort_positions(text, n_words)


def extend_ngrams(
    text: NDArray[np.int32],  # (n_tokens,): word ids
    is_counted: NDArray[np.bool_],  # (n_tokens,): whether an occurrence that ends here counts
    # (n_positions,): of sort_positions; the last words of n-grams of order 2 and more
    positions: NDArray[np.int32],
    # (n_tokens,): index of the n-gram of order n - 1 that ends here, or -1
    shorter: NDArray[np.int32],
    n_shorter: int,
) -> tuple[NgramCounts, NDArray[np.int32]]:
    """Count n-grams of order n; return the index of the one that ends at each position, or -1."""
    longer = np.empty(len(text), dtype=np.int32)
    counted = NgramCounts(
        *_native.extend_ngrams(text, is_counted, positions, shorter, n_shorter, longer)
    )
    return counted, longer
