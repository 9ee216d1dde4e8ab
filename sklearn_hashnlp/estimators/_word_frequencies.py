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
    """Counts of the sentences in which words stand, by a hash of the word.

    A word has the counter ``murmur3(word) % n_counters``, so that any string has one; words that share one are counted
    together. Counts of several texts can be added.

    Parameters
    ----------
    counts : ndarray of int32 of shape (n_counters,)
        In how many sentences the words of each counter stand.
    n_sentences : int
        How many sentences there were.

    References
    ----------
    .. [1] Sparck Jones (1972). A statistical interpretation of term specificity and its application in retrieval.
           Journal of Documentation 28.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_hashnlp.estimators._paragraphs import Paragraphs
    >>> sentences = Ragged(np.array([0, 1, 0, 0, 2], dtype=np.int32), np.array([0, 3, 5]))
    >>> read = Paragraphs(["the", "cat", "dog"], sentences, np.array([0, 2]))
    >>> frequencies = WordFrequencies.count(read)
    >>> print(frequencies.weights(["the", "cat", "never", "?"]).round(2))
    [1.   1.67 3.04 1.52]
    """

    counts: NDArray[np.int32]
    n_sentences: int

    @classmethod
    def count(cls, paragraphs: Paragraphs) -> WordFrequencies:
        """Count.

        Parameters
        ----------
        paragraphs : Paragraphs
            The sentences.

        Returns
        -------
        WordFrequencies
            Each sentence counts once for each counter of its words.
        """
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
        """Tell what words count in a sentence.

        A word that stands in df of n sentences counts

            min(idf, 9)^1.5, where idf = ln((1 + n) / (1 + df)) + 1,

        and half of that if it has neither a letter nor a digit.

        Parameters
        ----------
        words : sequence of str
            Any words.

        Returns
        -------
        ndarray of float32 of shape (n_words,)
            Their weights, positive.
        """
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
