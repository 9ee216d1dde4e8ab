"""Vectors of texts: weighted sums of the coefficients of words, n-grams of characters and pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.ngrams._int4_table import Int4Table
from sklearn_hashnlp.kernels.strings._unicode import character_classes


def ngram_encoder(
    dictionary: NDArray[np.uint64],  # (n,): hashes of words, then of n-grams, then of pairs
    n_words: int,
    weights: NDArray[np.float32],  # (n,): of the n-grams
    table: NDArray[np.float32] | Int4Table,  # (n, n_columns): coefficients
    mean: NDArray[np.float32],  # (n_columns,): added to the sum
    *,
    ngram_range: tuple[int, int],  # of the characters of a word between "<" and ">"
    unknown_weight: float,  # of a word that is not in the dictionary
    character_weight: float,  # norm of the weights of the n-grams of a word, relative to it
    norm_power: float,  # of the norm of the words' weights, which the sum is divided by
    max_words: int,  # longer texts are truncated
) -> _native.NgramEncoder:
    """Return the native encoder of texts; its ``encode`` writes unit vectors."""
    # A text is lowercased, and split into runs of \w and other visible characters. Each distinct
    # word counts once, with its weight; the known n-grams of a word share the weight of the word
    # times `character_weight`, in the ratio of their weights, with a norm of 1; each distinct pair
    # of neighboring words counts once. Sums are of float32, in the order of first occurrence:
    # a word, its n-grams, the next word, ..., the pairs.
    values, codes = np.empty((0, 0), np.float32), np.empty((0, 0), np.uint8)
    scales = np.empty(0, np.float32)
    if isinstance(table, Int4Table):
        codes, scales = map(np.ascontiguousarray, (table.codes, table.scales))
    else:
        values = np.ascontiguousarray(table)
    dictionary, weights, mean = map(np.ascontiguousarray, (dictionary, weights, mean))
    return _native.NgramEncoder(
        classes=character_classes,
        encode=_encode,
        max_words=max_words,
        ngram_range=ngram_range,
        dictionary=dictionary,
        weights=weights,
        n_words=n_words,
        unknown_weight=unknown_weight,
        character_weight=character_weight,
        norm_power=norm_power,
        values=values,
        codes=codes,
        scales=scales,
        mean=mean,
        owner=(dictionary, weights, values, codes, scales, mean),
    )


def _encode(text: str) -> bytes:
    """Encode a text that is not ASCII."""
    return text.lower().encode()
