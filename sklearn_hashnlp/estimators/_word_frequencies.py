"""In how many sentences words stand, with no list of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._paragraphs import Paragraphs
from sklearn_hashnlp.kernels import Ragged, murmur3

N_COUNTERS = 2**20
_LARGEST_IDF = 9.0  # of words in up to one of 3,000 sentences; rarer ones, misspelled ones among them, count no more
_POWER = 1.5
_MARK = 0.5  # what a word without letters and digits counts beside another that is as frequent
_has_letter_or_digit = re.compile(r"[^\W_]").search


@dataclass(frozen=True)
class WordFrequencies:
    """Counts of the sentences in which words stand, by a hash of the word."""

    counts: NDArray[np.int32]  # (n_counters,): in how many sentences the words of each counter stand
    n_sentences: int  # how many sentences there were

    @classmethod
    def count(cls, paragraphs: Paragraphs) -> WordFrequencies:
        """Count."""
        values, offsets = paragraphs.sentences
        counters = _counters(paragraphs.words, N_COUNTERS)[values]
        counters += np.repeat(np.arange(paragraphs.n_sentences) * N_COUNTERS, np.diff(offsets))
        counters.sort()  # several times as fast as numpy.unique, which looks for repetitions by a table of its own
        once = counters[np.diff(counters, prepend=-1) > 0]
        counts = np.bincount(once % N_COUNTERS, minlength=N_COUNTERS)
        return cls(counts.astype(np.int32), paragraphs.n_sentences)

    def __add__(self, other: WordFrequencies) -> WordFrequencies:
        return WordFrequencies(self.counts + other.counts, self.n_sentences + other.n_sentences)

    def weights(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return what words count in a sentence."""
        frequency = self.counts[_counters(words, len(self.counts))].astype(np.float64)
        idf = np.log((1 + self.n_sentences) / (1 + frequency)) + 1
        weights: NDArray[np.float32] = (np.minimum(idf, _LARGEST_IDF) ** _POWER).astype(np.float32)
        are_marks = np.array([_has_letter_or_digit(word) is None for word in words], dtype=np.bool_)
        weights[are_marks] *= np.float32(_MARK)
        return weights


def _counters(words: Sequence[str], n_counters: int) -> NDArray[np.int64]:
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([*map(len, encoded)], out=offsets[1:])
    hashes = murmur3(Ragged(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets))
    counters: NDArray[np.int64] = hashes.astype(np.int64) % n_counters
    return counters
