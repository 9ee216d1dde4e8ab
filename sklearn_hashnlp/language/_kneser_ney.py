"""Interpolated modified Kneser-Ney smoothing: from the words of a corpus to the trie of a backoff model."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._count_word_ngrams import NgramCounts, extend_ngrams, sort_positions
from sklearn_hashnlp.kernels._kneser_ney import interpolate
from sklearn_hashnlp.kernels._ngram_trie import LOG10_ZERO, NgramTrie, TrieLevel, build_trie

_DEFAULT_DISCOUNTS = (0.5, 1.0, 1.5)  # those of lmplz --discount_fallback


class NgramText(NamedTuple):
    """The words of a corpus as ids, with separators between pieces that share no n-gram."""

    ids: NDArray[np.int32]  # (n_tokens,): the last of n_words ids is <s>, which separates, and so does -1
    is_counted: NDArray[np.bool_]  # (n_tokens,): whether a word is predicted, so that n-grams that end there count
    n_words: int


class Estimate(NamedTuple):
    """An estimated model."""

    trie: NgramTrie
    discounts: NDArray[np.float64]  # (order, 3)


def estimate_kneser_ney(text: NgramText, discounts: NDArray[np.float64] | None, min_counts: list[int]) -> Estimate:
    """Estimate a model with discounts of shape (order, 3), or with those of the closed formula."""
    ngrams = _count(text, len(min_counts))
    counts = _adjusted_counts(ngrams)
    if discounts is None:
        discounts = np.array([estimate_discounts(of_order) for of_order in counts])
    kept = _choose(ngrams, min_counts)
    levels: list[TrieLevel] = []
    probs = np.array([1 / (text.n_words - 1)])  # of any word but <s>
    first_node, node_of = 0, np.zeros(1, dtype=np.int64)  # of the n-grams of the order below
    for n, own_discounts in enumerate(discounts):
        level, keep = ngrams.pop(0), kept.pop(0)
        probs, weights = interpolate(
            level.parents, level.suffixes, counts.pop(0), keep, np.array([0.0, *own_discounts]), probs, len(probs)
        )
        if n > 0:
            levels[-1].backoffs[:] = np.log10(weights[node_of >= 0])
        levels.append(
            TrieLevel(
                words=level.words[keep],
                parents=(node_of[level.parents[keep]] - first_node).astype(np.int32),
                suffixes=node_of[level.suffixes[keep]].astype(np.int32),
                log_probs=np.log10(probs[keep]),
                backoffs=np.zeros(int(keep.sum()) if n + 1 < len(discounts) else 0),
            )
        )
        first_node += int((node_of >= 0).sum())
        node_of = np.where(keep, np.cumsum(keep) - 1 + first_node, -1)
    levels[0].log_probs[-1] = LOG10_ZERO  # <s> is never predicted
    return Estimate(build_trie(levels), discounts)


def estimate_discounts(counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the discounts of counts of 1, 2, and 3 or more, by the closed formula of Chen & Goodman."""
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
    """Count the n-grams of all orders; those of the first are all words."""
    unigrams = np.arange(text.n_words, dtype=np.int32)
    root = np.zeros(text.n_words, dtype=np.int32)
    counts = np.bincount(text.ids[text.is_counted], minlength=text.n_words).astype(np.int32)
    ngrams = [NgramCounts(unigrams, root, root, counts)]
    if order == 1:
        return ngrams
    positions = sort_positions(text.ids, text.n_words - 1)
    ends = text.ids
    while len(ngrams) < order:
        counted, ends = extend_ngrams(text.ids, text.is_counted, positions, ends, len(ngrams[-1].words))
        ngrams.append(counted)
    return ngrams


def _adjusted_counts(ngrams: list[NgramCounts]) -> list[NDArray[np.int64]]:
    """Return the occurrences of n-grams of the highest order and, of the others, the distinct words before them."""
    adjusted = []
    for n, (shorter, longer) in enumerate(pairwise(ngrams)):
        counts = np.bincount(longer.suffixes, minlength=len(shorter.words))
        # Nothing comes before an n-gram that begins with <s>: it keeps its occurrences. A reader of word ids may show
        # such an n-gram only within its windows; it counts as one.
        begins = counts == 0
        counts[begins] = shorter.counts[begins] if n == 0 else np.maximum(shorter.counts[begins], 1)
        adjusted.append(counts)
    return [*adjusted, ngrams[-1].counts.astype(np.int64)]


def _choose(ngrams: list[NgramCounts], min_counts: list[int]) -> list[NDArray[np.bool_]]:
    """Choose the n-grams that occur often enough, of those whose words all but the first, or the last, are chosen."""
    kept = [np.ones(len(ngrams[0].words), dtype=np.bool_)]
    for level, min_count in zip(ngrams[1:], min_counts[1:], strict=True):
        kept.append((level.counts >= min_count) & kept[-1][level.parents] & kept[-1][level.suffixes])
    return kept
