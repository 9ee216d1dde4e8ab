"""Word vectors from the co-occurrence of words: positive pointwise mutual information, reduced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs

_TEXT_BLOCK = 2**22  # positions of the text processed at once
_ROUNDING = 1e-5  # relative rounding errors of float32, at most


# Levy, Goldberg & Dagan (2015). Improving distributional similarity with lessons learned from word
# embeddings. TACL 3. A row holds max(0, log(n(w, c) sum_c' n(c')^smoothing / (n(w)
# n(c)^smoothing))) for each context c, where n(w, c) sums the inverse distances of the two words.
# The rows are reduced to U S^power of their truncated SVD.
def ppmi_vectors(
    paragraphs: Paragraphs,
    *,
    n_components: int,
    window: int = 25,  # largest distance of two words of a paragraph that co-occur
    min_count: int = 3,  # of a word that has a vector or is a context
    n_words: int | None = None,  # that have a vector: the most frequent ones; None is all
    n_contexts: int = 20_000,  # the most frequent words
    # exponent of the counts of contexts: below 1, rare contexts weigh less
    smoothing: float = 0.75,
    power: float = 0.75,  # exponent of the singular values: below 1, smaller components weigh more
    seed: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Return the ids of words with co-occurrences, ascending, their unit vectors and counts."""
    counts = np.bincount(paragraphs.sentences.values, minlength=len(paragraphs.words))
    frequent = np.flatnonzero(counts >= min_count)
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")][:n_words]
    texts = Ragged(paragraphs.sentences.values, paragraphs.sentences.offsets[paragraphs.offsets])
    ppmi = _ppmi(_count_cooccurrences(texts, frequent, len(counts), window, n_contexts), smoothing)
    vectors = np.zeros((len(frequent), n_components), dtype=np.float32)
    reduced = _truncated_svd(ppmi, n_components, power, seed)
    vectors[:, : reduced.shape[1]] = reduced
    length = np.linalg.norm(vectors, axis=1)
    order = np.argsort(frequent, kind="stable")
    order = order[length[order] > _ROUNDING * length.max(initial=0)]
    word_ids = frequent[order]
    return word_ids, vectors[order] / length[order, None], counts[word_ids]


def _count_cooccurrences(
    texts: Ragged, frequent: NDArray[np.int64], n_words: int, window: int, n_contexts: int
) -> csr_array:
    """Return the matrix of n(w, c): a row for each frequent word, a column for each context."""
    n_contexts = min(n_contexts, len(frequent))
    shape = (len(frequent),) * 2
    counts = csr_array(shape, dtype=np.float64)  # of pairs in the order of the text
    row_of = np.full(n_words, -1, dtype=np.int64)
    row_of[frequent] = np.arange(len(frequent))
    for distance in range(1, window + 1):
        for left, right in _word_pairs(texts, distance):
            words, contexts = row_of[left], row_of[right]
            keep = (words >= 0) & (contexts >= 0)
            weights = np.full(int(keep.sum()), 1 / distance)
            counts = counts + csr_array((weights, (words[keep], contexts[keep])), shape=shape)
    return csr_array(counts[:, :n_contexts] + csr_array(counts[:n_contexts].T))


def _word_pairs(
    texts: Ragged, distance: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Iterate over the pairs of words of a text at a distance, in blocks."""
    values, offsets = texts
    for first in range(0, len(values) - distance, _TEXT_BLOCK):
        positions = np.arange(first, min(first + _TEXT_BLOCK, len(values) - distance))
        ends = offsets[np.searchsorted(offsets, positions, side="right")]
        positions = positions[positions + distance < ends]
        yield values[positions], values[positions + distance]


def _ppmi(counts: csr_array, smoothing: float) -> csr_array:
    entries = counts.tocoo()
    words, contexts = counts.sum(axis=1), counts.sum(axis=0) ** smoothing
    ratio = entries.data / words[entries.row] / (contexts[entries.col] / contexts.sum())
    keep = ratio > 1 + _ROUNDING
    values = np.log(ratio[keep]).astype(np.float32)
    return csr_array((values, (entries.row[keep], entries.col[keep])), shape=counts.shape)


def _truncated_svd(
    rows: csr_array, n_components: int, power: float, seed: int
) -> NDArray[np.float32]:
    n_components = min(n_components, *rows.shape)
    if rows.nnz == 0 or n_components == 0:
        return np.zeros((rows.shape[0], 0), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):  # more threads would sum in another order
        left, singular_values, _ = randomized_svd(rows, n_components, n_iter=4, random_state=seed)
    # Components beyond the rank of the matrix are rounding errors, which a power below 1 would
    # enlarge.
    keep = singular_values > _ROUNDING * singular_values[0]
    vectors: NDArray[np.float32] = (left[:, keep] * singular_values[keep] ** power).astype(
        np.float32
    )
    return vectors
