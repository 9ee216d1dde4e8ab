"""Projections of words by word id, with a cache of the most frequent words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._word_projections import with_array_output

_CHUNK = 2**14  # words projected at once, so that their n-grams take little memory


class CachedProjections:
    """Return the projections of words, scaled to unit length; the same to the last bit with and without the cache."""

    def __init__(
        self,
        words: Sequence[str],  # by word id
        counts: NDArray[np.integer],  # (n_words,): how often each is expected to be looked up
        featurizer: CharNgramFeaturizer,
        projector: SGNNProjector,  # with float output
        *,
        max_bytes: int = 2**29,  # of the cache
    ) -> None:
        self._words = words
        # rows() may be called in one of several threads already.
        self._featurizer = clone(featurizer).set_params(n_jobs=1)
        self._projector = with_array_output(projector).set_params(n_jobs=1)
        self.n_features = int(projector.n_projections) * int(projector.n_bits)
        self.n_cached = min(len(words), max_bytes // (4 * self.n_features))
        most_frequent = np.argsort(-np.asarray(counts), kind="stable")[: self.n_cached]
        self._cache_index = np.full(len(words), -1, dtype=np.int32)
        self._cache_index[most_frequent] = np.arange(self.n_cached, dtype=np.int32)
        self._cache = np.empty((self.n_cached, self.n_features), dtype=np.float32)
        for start in range(0, self.n_cached, _CHUNK):
            chunk = most_frequent[start : start + _CHUNK]
            self._cache[start : start + len(chunk)] = self._project(chunk)

    def rows(self, word_ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the projections of words, a new array; zero for a word without n-grams."""
        index = self._cache_index[word_ids]
        is_missing = index < 0
        rows: NDArray[np.float32]
        if not is_missing.any():
            rows = self._cache[index]
            return rows
        rows = np.empty((len(word_ids), self.n_features), dtype=np.float32)
        rows[~is_missing] = self._cache[index[~is_missing]]
        rows[is_missing] = self._project(word_ids[is_missing])
        return rows

    def _project(self, word_ids: NDArray[np.integer]) -> NDArray[np.float32]:
        words = [self._words[word_id] for word_id in word_ids.tolist()]
        rows: NDArray[np.float32] = self._projector.transform(self._featurizer.transform(words))
        # numpy sums each row by itself, in an order that depends only on the number of columns.
        lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
        rows /= np.where(lengths > 0, lengths, 1)
        return rows
