"""Sentences of numbered words to a batch that holds each different word once."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import WordBatch


def make_word_batch(sentences: Ragged, weights: NDArray[np.float32], projections: CachedProjections) -> WordBatch:
    """Make a batch.

    A word that stands several times in a sentence has its weight shared out among its places, so that each different
    word counts once.

    Parameters
    ----------
    sentences : Ragged of int
        The words of each sentence by their numbers.
    weights : ndarray of float32 of shape (n_words,)
        What each word counts in a sentence.
    projections : CachedProjections
        Knows the words by the same numbers.

    Returns
    -------
    WordBatch
        The sentences, in their order; its rows of projections are in the order of the words' numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
    >>> projections = CachedProjections(
    ...     ["the", "cat", "dog"], np.array([9, 1, 1]), CharNgramFeaturizer(), SGNNProjector(output="float")
    ... )
    >>> sentences = Ragged(np.array([2, 0, 2, 0]), np.array([0, 3, 4]))
    >>> batch = make_word_batch(sentences, np.array([1, 4, 4], dtype=np.float32), projections)
    >>> batch.words.tolist(), batch.weights.tolist()
    ([[1, 0, 1], [0, -1, -1]], [[2.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    """
    different, rows = np.unique(sentences.values, return_inverse=True)
    lengths = np.diff(sentences.offsets)
    there = np.arange(lengths.max(initial=0)) < lengths[:, None]
    words = np.full(there.shape, -1, dtype=np.int64)
    words[there] = rows
    shares = np.zeros(there.shape, dtype=np.float32)
    shares[there] = weights[sentences.values] / _times(rows, lengths, len(different))
    made = torch.from_numpy(projections.rows(different))
    return WordBatch(made, torch.from_numpy(words), torch.from_numpy(shares))


def _times(rows: NDArray[np.int64], lengths: NDArray[np.int64], n_different: int) -> NDArray[np.float32]:
    """Count how often the word of each place stands in its sentence."""
    keys = np.repeat(np.arange(len(lengths)) * n_different, lengths) + rows
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    times: NDArray[np.float32] = counts.astype(np.float32)[which]
    return times
