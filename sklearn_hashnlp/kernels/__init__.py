"""Arrays in, arrays out: the compiled loops, with no policy of their own."""

from sklearn_hashnlp.kernels._counting import L1, L2, NO_NORM, Room, count_hashes
from sklearn_hashnlp.kernels._murmur3 import murmur3
from sklearn_hashnlp.kernels._ngrams import hash_ngrams
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._skipgrams import hash_skipgrams
from sklearn_hashnlp.kernels._units import Texts, Units, character_units, word_character_units, word_units
from sklearn_hashnlp.kernels._word_set import WordSet

__all__ = [
    "L1",
    "L2",
    "NO_NORM",
    "Ragged",
    "Room",
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
