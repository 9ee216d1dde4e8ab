"""Probabilities and backoff weights of n-grams in a trie, and their lookup."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native

LOG10_ZERO = -99.0  # in place of the logarithm of 0, as in ARPA files
MAX_NODES = 2**31 - 1  # node numbers are int32


class NgramTrie(NamedTuple):
    """A backoff model: nodes but the root are n-grams, and the parent of each lacks its last word.

    Nodes are sorted by order, then by parent, then by word: node 0 is the root, and node ``1 + w``
    the word ``w``. Nodes with fewer words than the longest n-grams can be contexts; they come
    first.
    """

    words: NDArray[np.int32]  # (n_nodes,): last word of each n-gram
    # (n_contexts + 1,): start of the children of each context, and the end
    first_child: NDArray[np.int32]
    # (n_contexts,): node of the longest proper suffix of each context that is a node
    suffixes: NDArray[np.int32]
    # (n_nodes,): log10 of the probability of the last word after the others
    log_probs: NDArray[np.float64]
    # (n_contexts,): log10 of the factor for words that are not a child
    backoffs: NDArray[np.float64]


class TrieLevel(NamedTuple):
    """The n-grams of one order, sorted by parent and then by word."""

    words: NDArray[np.int32]  # (n_ngrams,): last words
    parents: NDArray[np.int32]  # (n_ngrams,): index in the order below
    suffixes: NDArray[np.int32]  # (n_ngrams,): node of the longest proper suffix that is a node
    log_probs: NDArray[np.float64]  # (n_ngrams,)
    backoffs: NDArray[np.float64]  # (n_ngrams,); empty in the highest order


def build_trie(levels: list[TrieLevel]) -> NgramTrie:
    """Build the trie of the n-grams of orders 1, 2, ... (1 has all words), and empty the list."""
    sizes = [len(level.words) for level in levels]
    n_nodes, n_contexts = 1 + sum(sizes), 1 + sum(sizes[:-1])
    if n_nodes > MAX_NODES:
        raise ValueError(f"A trie holds at most {MAX_NODES} n-grams, got {n_nodes - 1}.")
    trie = NgramTrie(
        words=np.full(n_nodes, -1, dtype=np.int32),
        first_child=np.ones(n_contexts + 1, dtype=np.int32),
        suffixes=np.zeros(n_contexts, dtype=np.int32),
        log_probs=np.zeros(n_nodes),
        backoffs=np.zeros(n_contexts),
    )
    context, node = 0, 1  # the first of the previous order, and of this order
    while levels:
        level = levels.pop(0)  # its memory is freed before the next level is copied
        end = node + len(level.words)
        n_children = np.bincount(level.parents, minlength=node - context)
        np.cumsum(n_children, out=trie.first_child[context + 1 : node + 1])
        trie.first_child[context + 1 : node + 1] += node
        trie.words[node:end], trie.log_probs[node:end] = level.words, level.log_probs
        if levels:
            trie.suffixes[node:end], trie.backoffs[node:end] = level.suffixes, level.backoffs
        context, node = node, end
    return trie


def level_sizes(trie: NgramTrie, order: int) -> list[int]:
    """Return the number of n-grams of each order."""
    return np.diff(_level_starts(trie, order)).tolist()


def check_trie(trie: NgramTrie, *, n_words: int, order: int) -> None:
    """Raise an error unless arrays are a trie of words 0 to n_words - 1, the last not predicted."""
    n_nodes, n_contexts = len(trie.words), len(trie.suffixes)
    dtypes = [array.dtype for array in trie]
    if dtypes != [np.int32, np.int32, np.int32, np.float64, np.float64] or any(
        array.ndim != 1 for array in trie
    ):
        raise ValueError(
            f"The arrays of the trie have the dtypes {[str(dtype) for dtype in dtypes]}."
        )
    first_child = trie.first_child
    if not (
        len(first_child) == n_contexts + 1 == len(trie.backoffs) + 1
        and len(trie.log_probs) == n_nodes > n_words
    ):
        raise ValueError("The arrays of the trie do not have the same length.")
    if not (
        first_child[0] == 1 and (np.diff(first_child) >= 0).all() and first_child[-1] == n_nodes
    ):
        raise ValueError("The children in the trie are not in order.")
    starts = _level_starts(trie, order)
    if starts[1:2] != [1 + n_words] or starts[-2:] != [n_contexts, n_nodes]:
        raise ValueError(
            f"The trie has not the order {order} or not the {n_words} words of the vocabulary."
        )
    words = trie.words[1:]
    is_first = np.zeros(n_nodes + 1, dtype=np.bool_)
    is_first[first_child] = True
    in_order = (words[1:] > words[:-1]) | is_first[2:n_nodes]
    longer = words[n_words:]
    if not (
        (words[:n_words] == np.arange(n_words)).all()
        and in_order.all()
        and ((longer >= 0) & (longer < n_words - 1)).all()
    ):
        raise ValueError("The words in the trie are not in order.")
    # a suffix has a lower order than its n-gram
    ends = np.repeat(starts[: order - 1], np.diff(starts[:order]))
    if trie.suffixes[0] != 0 or not ((trie.suffixes[1:] >= 0) & (trie.suffixes[1:] < ends)).all():
        raise ValueError("The suffixes in the trie are not in order.")
    if not (
        np.isfinite(trie.log_probs).all()
        and (trie.log_probs <= 0).all()
        and np.isfinite(trie.backoffs).all()
    ):
        raise ValueError("The trie holds a logarithm that is none of a probability.")


def _level_starts(trie: NgramTrie, order: int) -> list[int]:
    """Return the first node of each order, and the number of nodes."""
    starts = [1]
    for _ in range(order - 1):
        starts.append(int(trie.first_child[min(starts[-1], len(trie.suffixes))]))
    return [*starts, len(trie.words)]


def find_nodes(trie: NgramTrie, ngrams: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the node of each n-gram, -1 if it does not exist; n-grams are rows of word ids."""
    nodes = np.empty(len(ngrams), dtype=np.int64)
    _native.find_nodes(trie, np.ascontiguousarray(ngrams), nodes)
    return nodes


def score_positions(
    trie: NgramTrie, text: NDArray[np.int32], positions: NDArray[Any], n_context: int
) -> NDArray[np.float64]:
    """Return the log10 probability of the word at each position, given n_context words before."""
    scores = np.empty(len(positions))
    _native.score_positions(trie, text, positions, n_context, scores)
    return scores


def score_all_words(
    trie: NgramTrie, contexts: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Return the log10 probabilities of words 0 to n_classes - 1 after each context of word ids."""
    scores = np.empty((len(contexts), n_classes))
    _native.score_all_words(trie, np.ascontiguousarray(contexts), scores)
    return scores
