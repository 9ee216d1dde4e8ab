"""Vectors of words by the company they keep, which the word tables of sentences learn to give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.sentences._paragraphs import Paragraphs

_BLOCK = 2**22  # places in the text that are looked at once
_NOISE = 1e-5  # what float32 leaves of a zero, at most, beside numbers around 1


def context_targets(
    paragraphs: Paragraphs,
    *,
    n_components: int,
    window: int = 5,
    min_count: int = 3,
    n_contexts: int = 20_000,
    smoothing: float = 0.75,
    power: float = 0.25,
    seed: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Return words that stand among the same words similar vectors."""
    counts = np.bincount(paragraphs.sentences.values, minlength=len(paragraphs.words))
    frequent = np.flatnonzero(counts >= min_count)
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")]
    information = _positive_information(
        _count_pairs(paragraphs.sentences, frequent, len(counts), window, n_contexts), smoothing
    )
    vectors = np.zeros((len(frequent), n_components), dtype=np.float32)
    reduced = _reduce(information, n_components, power, seed)
    vectors[:, : reduced.shape[1]] = reduced
    length = np.linalg.norm(vectors, axis=1)
    # Numbers in the order of the text, not of how frequent the words are: a caller can look them up.
    order = np.argsort(frequent, kind="stable")
    order = order[length[order] > _NOISE * length.max(initial=0)]
    numbers = frequent[order]
    return numbers, vectors[order] / length[order, None], counts[numbers]


def _count_pairs(
    sentences: Ragged, frequent: NDArray[np.int64], n_words: int, window: int, n_contexts: int
) -> csr_array:
    """Sum, for each frequent word and each context, the inverses of the distances at which they stand."""
    n_contexts = min(n_contexts, len(frequent))
    pairs = csr_array((len(frequent), n_contexts), dtype=np.float64)
    row_of = np.full(n_words, -1, dtype=np.int64)
    row_of[frequent] = np.arange(len(frequent))
    for distance in range(1, window + 1):
        for left, right in _neighbours(sentences, distance):
            for words, contexts in ((row_of[left], row_of[right]), (row_of[right], row_of[left])):
                kept = (words >= 0) & (contexts >= 0) & (contexts < n_contexts)
                weights = np.full(int(kept.sum()), 1 / distance)
                pairs = pairs + csr_array((weights, (words[kept], contexts[kept])), shape=pairs.shape)
    return pairs


def _neighbours(sentences: Ragged, distance: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return the pairs of words of one sentence at this distance, many at once."""
    values, offsets = sentences
    for first in range(0, len(values) - distance, _BLOCK):
        places = np.arange(first, min(first + _BLOCK, len(values) - distance))
        ends = offsets[np.searchsorted(offsets, places, side="right")]
        places = places[places + distance < ends]
        yield values[places], values[places + distance]


def _positive_information(pairs: csr_array, smoothing: float) -> csr_array:
    entries = pairs.tocoo()
    words, contexts = pairs.sum(axis=1), pairs.sum(axis=0) ** smoothing
    share = entries.data / words[entries.row] / (contexts[entries.col] / contexts.sum())
    kept = share > 1 + _NOISE
    values = np.log(share[kept]).astype(np.float32)
    return csr_array((values, (entries.row[kept], entries.col[kept])), shape=pairs.shape)


def _reduce(rows: csr_array, n_components: int, power: float, seed: int) -> NDArray[np.float32]:
    n_components = min(n_components, *rows.shape)
    if rows.nnz == 0 or n_components == 0:
        return np.zeros((rows.shape[0], 0), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):  # more threads would add up in another order
        left, sizes, _ = randomized_svd(rows, n_components, n_iter=4, random_state=seed)
    # Directions beyond the rank of the rows are noise, which a root would make large.
    real = sizes > _NOISE * sizes[0]
    vectors: NDArray[np.float32] = (left[:, real] * sizes[real] ** power).astype(np.float32)
    return vectors
