"""The slow truth about vectors of texts: words, their characters and pairs as strings, in double
precision, and the fingerprints of these strings.
"""

import math
import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import murmurhash3_32

from tests.oracles import ngrams
from tests.oracles.hashing import splitmix64


class Entry(NamedTuple):
    """What is known of an n-gram."""

    weight: float
    row: NDArray[Any]  # of coefficients


Entries = dict[Any, Entry]


def tokens(text: str, max_words: int) -> list[str]:
    """Split a text into words and punctuation."""
    return re.findall(r"\w+|[^\w\s]", text.lower())[:max_words]


def character_ngrams(word: str) -> list[str]:
    """Return the 3- to 5-grams of the characters of a word with its boundaries."""
    return ["".join(gram) for gram in ngrams.ngrams(list(f"<{word}>"), (3, 5))]


def vector(
    text: str,
    words: Entries,
    characters: Entries,
    pairs: Entries,
    mean: NDArray[Any],
    *,
    unknown_weight: float,
    character_weight: float,
    norm_power: float,
    max_words: int,
) -> NDArray[np.float64]:
    """Return the unit vector of a text."""
    found = tokens(text, max_words)
    total, squares = np.zeros(len(mean)), 0.0
    for word in dict.fromkeys(found):
        own = words.get(word, Entry(unknown_weight, np.zeros(len(mean))))
        grams = [characters[gram] for gram in character_ngrams(word) if gram in characters]
        norm = math.sqrt(sum(gram.weight**2 for gram in grams))
        inner = own.row.astype(np.float64)
        for gram in grams:
            inner = inner + character_weight * gram.weight / norm * gram.row
        total += own.weight * inner
        squares += own.weight**2
    for pair in dict.fromkeys(pairwise(found)):
        if pair in pairs:
            total += pairs[pair].weight * pairs[pair].row
    if not found:
        return total
    total = total / math.sqrt(squares) ** norm_power + mean
    length = float(np.linalg.norm(total))
    return total / length if length > 0 else total


def word_fingerprint(word: str) -> int:
    """Return the fingerprint of a word: that of an n-gram of one unit, before it is mixed."""
    high, low = (
        murmurhash3_32(word.encode(), seed=seed, positive=True) for seed in (0x9747B28C, 0)
    )
    return int(high << 32 | low)


def pair_fingerprint(first: str, second: str) -> int:
    """Return the fingerprint of two neighboring words."""
    (inner,) = splitmix64(word_fingerprint(first), 1)
    (result,) = splitmix64((inner ^ word_fingerprint(second)) - 0x9E3779B97F4A7C15, 1)
    return result
