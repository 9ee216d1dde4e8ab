"""The weights of n-grams in the sums that are the vectors of texts; quick to import."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import map_distinct, smoothed_idf

# Chosen on vectors of a Transformer for sentences of Wikipedia that were not fitted, and on the
# development set of the STS benchmark.
NGRAM_RANGE = (3, 5)  # of the characters of a word with its boundaries
CHARACTER_WEIGHT = 1.5
# a row is divided by its norm to this power: with 1 long texts count too little, with 0 too much
NORM_POWER = 0.7
_IDF_POWER = 1.5  # rare words have larger coefficients
_PAIR_WEIGHT = 0.5


def word_weights(idf: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the weights of words with these inverse document frequencies."""
    return map_distinct(lambda value: float(value**_IDF_POWER), idf)


def pair_weights(idf: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the weights of pairs of words."""
    return _PAIR_WEIGHT * word_weights(idf)


def ngram_weights(
    counts: NDArray[np.int32],  # (n_ngrams,): the number of training texts with each
    sizes: tuple[int, int, int],  # words, character n-grams, pairs
    n_texts: int,
) -> tuple[NDArray[np.float32], float]:
    """Return the weights of n-grams, and the weight of a word that no training text has."""
    # with an unknown word
    idf = smoothed_idf(np.append(counts, counts.dtype.type(0)), n_texts).astype(np.float64)
    powers = word_weights(idf).astype(np.float32)
    n_words, n_ngrams, _ = sizes
    weights, end = powers[:-1].copy(), n_words + n_ngrams
    weights[n_words:end] = idf[n_words:end]
    weights[end:] *= np.float32(_PAIR_WEIGHT)
    return weights, float(powers[-1])
