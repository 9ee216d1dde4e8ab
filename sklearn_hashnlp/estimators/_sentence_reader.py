"""What a sentence encoder reads of texts: words, their projections and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._word_frequencies import N_COUNTERS, WordFrequencies
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._word_projections import number_words


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
