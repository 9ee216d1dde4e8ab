"""Arrays in, arrays out: the compiled loops, with no policy of their own."""

from ._counting import L1, L2, NO_NORM, count_hashes
from ._murmur3 import murmur3
from ._ngrams import hash_ngrams
from ._ragged import Ragged
from ._skipgrams import hash_skipgrams
from ._units import Texts, Units, character_units, word_character_units, word_units
from ._word_set import WordSet

__all__ = [
    "L1",
    "L2",
    "NO_NORM",
    "Ragged",
    "Texts",
    "Units",
    "WordSet",
    "character_units",
    "count_hashes",
    "hash_ngrams",
    "hash_skipgrams",
    "murmur3",
    "word_character_units",
    "word_units",
]
