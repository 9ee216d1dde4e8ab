"""Interpolated modified Kneser-Ney smoothing: estimates a backoff model's trie from a corpus."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.ngrams._count_word_ngrams import (
    NgramCounts,
    extend_ngrams,
    sort_positions,
)
from sklearn_hashnlp.kernels.ngrams._kneser_ney import interpolate
from sklearn_hashnlp.kernels.ngrams._trie import LOG10_ZERO, NgramTrie, TrieLevel, build_trie

_DEFAULT_DISCOUNTS = (0.5, 1.0, 1.5)  # as lmplz --discount_fallback


class NgramText(NamedTuple):
    """The word ids of a corpus, with separators between parts that share no n-gram."""

    ids: NDArray[np.int32]  # (n_tokens,): the last word id, <s>, and -1 are separators
    # (n_tokens,): whether the n-grams that end with the token are counted
    is_counted: NDArray[np.bool_]
    n_words: int


def estimate_kneser_ney(
    text: NgramText, discounts: NDArray[np.float64] | None, min_counts: list[int]
) -> tuple[NgramTrie, NDArray[np.float64]]:
    """Estimate a model; return it and its discounts, by the closed formula if None is passed."""
    n_classes = text.n_words - 1
    ngrams = _count(text, len(min_counts))
    del text  # frees memory for the n-grams
    levels: list[TrieLevel] = []
    own_discounts: list[tuple[float, ...]] = []
    probs = np.array([1 / n_classes])  # uniform over all words except <s>
    # nodes of the (n - 1)-grams, -1 if dropped
    first_node, node_of = 0, np.zeros(1, dtype=np.int32)
    for n, min_count in enumerate(min_counts):
        level = ngrams.pop(0)
        counts = _adjusted_counts(level, ngrams[0] if ngrams else None, is_first=n == 0)
        keep = _choose(level, min_count, node_of) if n > 0 else np.ones(len(counts), dtype=np.bool_)
        own_discounts.append(
            estimate_discounts(counts) if discounts is None else tuple(discounts[n])
        )
        probs, weights = interpolate(
            level.parents,
            level.suffixes,
            counts,
            keep,
            np.array([0.0, *own_discounts[n]]),
            probs,
            len(probs),
        )
        if n > 0:
            levels[-1].backoffs[:] = np.log10(weights[node_of >= 0])
        chosen: Any = slice(None) if keep.all() else keep  # a slice copies nothing
        words = level.words[chosen]
        parents = level.parents[chosen]
        suffixes = level.suffixes[chosen]
        levels.append(
            TrieLevel(
                words=words,
                parents=node_of[parents] - np.int32(first_node),
                suffixes=node_of[suffixes] if ngrams else np.empty(0, dtype=np.int32),
                log_probs=np.log10(probs[chosen]),
                backoffs=np.zeros(len(words) if ngrams else 0),
            )
        )
        first_node += int((node_of >= 0).sum())
        node_of = np.where(
            keep, np.cumsum(keep, dtype=np.int32) + np.int32(first_node - 1), np.int32(-1)
        )
    levels[0].log_probs[-1] = LOG10_ZERO  # <s> is never predicted
    return build_trie(levels), np.array(own_discounts)


def estimate_discounts(counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the discounts of counts 1, 2, and 3 or more, by Chen & Goodman's closed formula."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if n1 == 0 or n2 == 0:
        return _DEFAULT_DISCOUNTS
    base = n1 / (n1 + 2 * n2)
    if n3 > 0 and n4 > 0:
        second, third = 2 - 3 * base * n3 / n2, 3 - 4 * base * n4 / n3
        if second > 0 and third > 0:
            return base, second, third
    return base, base, base


def _count(text: NgramText, order: int) -> list[NgramCounts]:
    """Count the n-grams of all orders; the unigrams are all words."""
    unigrams = np.arange(text.n_words, dtype=np.int32)
    root = np.zeros(text.n_words, dtype=np.int32)
    counts = np.bincount(text.ids[text.is_counted], minlength=text.n_words).astype(np.int32)
    ngrams = [NgramCounts(unigrams, root, root, counts)]
    if order == 1:
        return ngrams
    positions = sort_positions(text.ids, text.n_words - 1)
    ends = text.ids
    while len(ngrams) < order:
        counted, ends = extend_ngrams(
            text.ids, text.is_counted, positions, ends, len(ngrams[-1].words)
        )
        ngrams.append(counted)
    return ngrams


def _adjusted_counts(
    level: NgramCounts, longer: NgramCounts | None, *, is_first: bool
) -> NDArray[np.int64]:
    """Count the distinct words before each n-gram or, in the highest order, its occurrences."""
    if longer is None:
        return level.counts.astype(np.int64)
    counts = np.bincount(longer.suffixes, minlength=len(level.words))
    # No word precedes an n-gram that starts with <s>, so it keeps its occurrences. Windows of word
    # ids may contain such an n-gram without counting it; its count is then one. Words that never
    # occur have a count of zero.
    starts = counts == 0
    counts[starts] = np.maximum(level.counts[starts], 0 if is_first else 1)
    return counts


def _choose(level: NgramCounts, min_count: int, node_of: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return a mask of n-grams that occur often enough, with a chosen prefix and suffix."""
    # n-grams within windows of word ids may have a count of zero
    often = np.maximum(level.counts, 1) >= min_count
    chosen: NDArray[np.bool_] = (
        often & (node_of[level.parents] >= 0) & (node_of[level.suffixes] >= 0)
    )
    return chosen
