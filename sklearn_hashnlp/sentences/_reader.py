"""The reader of sentences: word ids, weights by document frequency, and cached projections of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sklearn_hashnlp._idf import map_distinct, smoothed_idf
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._word_projections import encode_words, with_array_output

WORD_SPLITTER = CharNgramFeaturizer(split="punctuation", lowercase=True)
"""Splits texts into words, in lowercase, and punctuation, as the featurizer of every reader does."""

N_COUNTERS = 2**20
_MAX_IDF = 9.0  # of a word in one of 3,000 sentences; rarer words, such as misspellings, weigh no more
_IDF_POWER = 1.5
_PUNCTUATION_WEIGHT = 0.5  # relative to a word of the same frequency
_CHUNK = 2**14  # words projected at once, so that their n-grams take little memory
_has_letter_or_digit = re.compile(r"[^\W_]").search


@dataclass(frozen=True)
class SentenceReader:
    """Split sentences into words, in lowercase, and punctuation; project and weigh the words."""

    n_projections: int
    n_bits: int
    ngram_range: tuple[int, int]  # shortest and longest character n-grams of a word
    seed: int  # of the hyperplanes
    frequencies: WordFrequencies  # in the training sentences

    @property
    def featurizer(self) -> CharNgramFeaturizer:
        """The featurizer of words, which also splits texts into words."""
        return CharNgramFeaturizer(ngram_range=self.ngram_range, split="punctuation", lowercase=True)

    @property
    def projector(self) -> SGNNProjector:
        """The projector of featurized words."""
        return SGNNProjector(
            n_projections=self.n_projections, n_bits=self.n_bits, output="float", random_state=self.seed
        )

    def word_ids(self, texts: list[Any], *, first: int, caller: str) -> tuple[list[str], Ragged]:
        """Return the distinct words of some texts, and each text as word ids, indices of these words."""
        return encode_words(texts, first=first, featurizer=self.featurizer, caller=caller)

    def weights(self, words: list[str]) -> NDArray[np.float32]:
        """Return the weights of words in a sentence."""
        return self.frequencies.weights(words)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON values and arrays for :meth:`from_state`."""
        slots = np.flatnonzero(self.frequencies.counts).astype(np.int32)
        return {
            "n_projections": self.n_projections,
            "n_bits": self.n_bits,
            "ngram_range": list(self.ngram_range),
            "seed": self.seed,
            "n_sentences": self.frequencies.n_sentences,
        }, {"slots": slots, "counts": self.frequencies.counts[slots]}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SentenceReader:
        """Build a reader from its state."""
        counts = np.zeros(N_COUNTERS, dtype=np.int32)
        counts[arrays["slots"]] = arrays["counts"]
        shortest, longest = values["ngram_range"]
        return cls(
            values["n_projections"],
            values["n_bits"],
            (shortest, longest),
            values["seed"],
            WordFrequencies(counts, values["n_sentences"]),
        )


@dataclass(frozen=True)
class WordFrequencies:
    """Document frequencies of words, a sentence being a document; words with the same hash are counted together."""

    counts: NDArray[np.int32]  # (n_counters,): number of sentences with a word of that hash
    n_sentences: int

    @classmethod
    def count(cls, paragraphs: Paragraphs) -> WordFrequencies:
        """Count the sentences of each word."""
        values, offsets = paragraphs.sentences
        counters = _counters(paragraphs.words, N_COUNTERS)[values]
        counters += np.repeat(np.arange(paragraphs.n_sentences) * N_COUNTERS, np.diff(offsets))
        counters.sort()  # several times as fast as numpy.unique, which builds a hash table
        once = counters[np.diff(counters, prepend=-1) > 0]
        counts = np.bincount(once % N_COUNTERS, minlength=N_COUNTERS)
        return cls(counts.astype(np.int32), paragraphs.n_sentences)

    def weights(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the weights of words: min(idf, 9)^1.5 with a smoothed idf, and half of it for punctuation."""
        idf = smoothed_idf(self.counts[_counters(words, len(self.counts))], self.n_sentences)
        weights = map_distinct(lambda one: min(one, _MAX_IDF) ** _IDF_POWER, idf).astype(np.float32)
        is_punctuation = np.array([_has_letter_or_digit(word) is None for word in words], dtype=np.bool_)
        weights[is_punctuation] *= np.float32(_PUNCTUATION_WEIGHT)
        return weights


def _counters(words: Sequence[str], n_counters: int) -> NDArray[np.int64]:
    """Return the hashes of words, indices of counters."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([*map(len, encoded)], out=offsets[1:])
    hashes = murmur3(Ragged(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets))
    counters: NDArray[np.int64] = hashes.astype(np.int64) % n_counters
    return counters


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
