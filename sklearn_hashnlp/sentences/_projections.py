"""Projections of numbered words, those of the most frequent ones kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

_AT_ONCE = 2**14  # words that are projected at once, so that what is made on the way stays small


class CachedProjections:
    """Return words' projections, scaled to unit length, by the numbers of the words."""

    def __init__(
        self,
        words: Sequence[str],
        counts: NDArray[np.integer],
        featurizer: CharNgramFeaturizer,
        projector: SGNNProjector,
        *,
        max_bytes: int = 2**29,
    ) -> None:
        self._words = words
        # Whoever asks may be one of several threads already.
        self._featurizer = clone(featurizer).set_params(n_jobs=1)
        self._projector = clone(projector).set_params(n_jobs=1)
        self.n_features = int(projector.n_projections) * int(projector.n_bits)
        self.n_kept = min(len(words), max_bytes // (4 * self.n_features))
        kept = np.argsort(-np.asarray(counts), kind="stable")[: self.n_kept]
        self._places = np.full(len(words), -1, dtype=np.int32)
        self._places[kept] = np.arange(self.n_kept, dtype=np.int32)
        self._kept = np.empty((self.n_kept, self.n_features), dtype=np.float32)
        for start in range(0, self.n_kept, _AT_ONCE):
            part = kept[start : start + _AT_ONCE]
            self._kept[start : start + len(part)] = self._project(part)

    def rows(self, numbers: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the projections of some words."""
        places = self._places[numbers]
        are_missing = places < 0
        rows: NDArray[np.float32]
        if not are_missing.any():
            rows = self._kept[places]
            return rows
        rows = np.empty((len(numbers), self.n_features), dtype=np.float32)
        rows[~are_missing] = self._kept[places[~are_missing]]
        rows[are_missing] = self._project(numbers[are_missing])
        return rows

    def _project(self, numbers: NDArray[np.integer]) -> NDArray[np.float32]:
        words = [self._words[number] for number in numbers.tolist()]
        rows: NDArray[np.float32] = self._projector.transform(self._featurizer.transform(words))
        # numpy adds up the columns of each row by themselves, in an order that hangs on their number alone.
        lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
        rows /= np.where(lengths > 0, lengths, 1)
        return rows
