"""Paragraphs read into word ids and counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import Ragged, murmur3
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._word_projections import number_words

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


@dataclass(frozen=True)
class SentenceReader:
    """Reads words, in small letters, and marks; knows what each looks like and in how many sentences it was."""

    n_projections: int
    n_bits: int
    ngram_range: tuple[int, int]  # shortest and longest character n-grams of a word
    seed: int  # of the hyperplanes
    frequencies: WordFrequencies  # of the words in the training sentences

    @property
    def featurizer(self) -> CharNgramFeaturizer:
        """What makes rows of words, and says what words are."""
        return CharNgramFeaturizer(ngram_range=self.ngram_range, split="punctuation", lowercase=True)

    @property
    def projector(self) -> SGNNProjector:
        """What projects the rows."""
        return SGNNProjector(
            n_projections=self.n_projections, n_bits=self.n_bits, output="float", random_state=self.seed
        )

    def number(self, texts: list[Any], *, first: int, caller: str) -> tuple[list[str], Ragged]:
        """Return the different words of some texts, and the numbers of the words that make up each text."""
        return number_words(texts, first=first, featurizer=self.featurizer, caller=caller)

    def weights(self, words: list[str]) -> NDArray[np.float32]:
        """Return what words count in a sentence."""
        return self.frequencies.weights(words)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what :meth:`from_state` takes."""
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
        """Make a reader again."""
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
