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
    """Reads words, in small letters, and marks; knows what each looks like and in how many sentences it was.

    Parameters
    ----------
    n_projections, n_bits : int
        As :class:`SGNNProjector` takes them.
    ngram_range : (int, int)
        Shortest and longest character n-grams of a word.
    seed : int
        Of the hyperplanes.
    frequencies : WordFrequencies
        Of the words in the training sentences.
    """

    n_projections: int
    n_bits: int
    ngram_range: tuple[int, int]
    seed: int
    frequencies: WordFrequencies

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
        """Give the different words of some texts, and the numbers of the words that make up each text.

        Parameters
        ----------
        texts : list of str
            The texts.
        first : int
            The position of the first of them among all, for the messages.
        caller : str
            Who asks, for the messages.

        Returns
        -------
        words : list of str
            The words in the order in which they come first.
        rows : Ragged of int64
            Each text's words by their numbers.

        Raises
        ------
        ValueError, TypeError
            If a text is none.
        """
        return number_words(texts, first=first, featurizer=self.featurizer, caller=caller)

    def weights(self, words: list[str]) -> NDArray[np.float32]:
        """Tell what words count in a sentence.

        Parameters
        ----------
        words : list of str
            Any words.

        Returns
        -------
        ndarray of float32 of shape (n_words,)
            Their weights.
        """
        return self.frequencies.weights(words)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Give what :meth:`from_state` takes.

        Returns
        -------
        values : dict
            JSON values.
        arrays : dict of str to ndarray
            Frequencies.
        """
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
        """Make a reader again.

        Parameters
        ----------
        values, arrays
            What :meth:`to_state` gave.

        Returns
        -------
        SentenceReader
            The reader.
        """
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
