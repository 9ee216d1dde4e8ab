"""The units of n-grams: words, characters, or the characters of words, in one layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._unicode import (
    ASCII,
    UNICODE,
    character_classes,
    visible_as_words,
)

WORDS = 0
CHARACTERS = 1
WORD_CHARACTERS = 2
"""The kinds of units."""


class Texts(NamedTuple):
    """Many documents in one buffer, the input of the tokenizers."""

    # The documents in UTF-8, each followed by a line feed, which ends the last word and is no part
    # of the document. A lone surrogate is encoded as the three bytes of its code point.
    rows: Ragged
    is_ascii: NDArray[np.bool_]  # (n_rows,): whether a document is ASCII, which needs no decoding
    lowercase: bool  # whether to lowercase the ASCII documents; the others are lowercased before


class Units(NamedTuple):
    """Rows of segments of units; an n-gram is the byte span of n neighboring units of a segment."""

    # A segment of k units has k + 1 boundaries: unit i begins at `boundaries[i]`, and the n-gram
    # that begins with it ends `separator_width` bytes before `boundaries[i + n]`.
    text: NDArray[np.uint8]  # the units' bytes, end to end, and `PADDING` more bytes
    boundaries: NDArray[np.int64]  # the boundaries of the segments, one segment after the other
    segments: NDArray[np.int64]  # (n_segments + 1,): start of each segment's boundaries
    rows: NDArray[np.int64]  # (n_rows + 1,): start of each row's segments in ``segments``
    separator_width: int  # bytes between two units: 1 between words, 0 between characters


class WordSet(NamedTuple):
    """A set of words for kernels: an open-addressing hash table, at most half full."""

    # (a power of two,), or (0,) for no words: index of the word in each slot, or -1
    slots: NDArray[np.int64]
    words: Ragged  # the words in UTF-8

    @classmethod
    def of(cls, words: frozenset[str]) -> WordSet:
        """Build the set of ``words``, ignoring values that are not ``str`` (no text has them)."""
        encoded = [
            word.encode("utf-8", "surrogatepass")
            for word in sorted(words, key=str)
            if isinstance(word, str)
        ]
        rows = Ragged(
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
            np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        )
        slots = np.full(2 << len(encoded).bit_length() if encoded else 0, -1, dtype=np.int64)
        for index, hash_ in enumerate(murmur3(rows).tolist() if encoded else []):
            slot = hash_ % len(slots)
            while slots[slot] >= 0:
                slot = (slot + 1) % len(slots)
            slots[slot] = index
        return cls(slots, rows)


NO_WORDS = WordSet.of(frozenset())


def word_units(
    texts: Texts,
    *,
    min_length: int = 1,
    keep_punctuation: bool = True,
    split_punctuation: bool = True,
    stop_words: WordSet = NO_WORDS,
) -> Units:
    r"""Split texts into ``\w`` runs and, if ``keep_punctuation``, other visible characters."""
    return _split(
        WORDS, texts, split_punctuation, min_length, keep_punctuation, stop_words=stop_words
    )


def character_units(texts: Texts) -> Units:
    r"""Split texts into characters, each run of two or more ``\s`` replaced by one space."""
    return _split(CHARACTERS, texts, split_punctuation=False)


def word_character_units(
    texts: Texts, *, before: str, after: str, split_punctuation: bool = False
) -> Units:
    """Split texts into words, and each word, between ``before`` and ``after``, into characters."""
    return _split(WORD_CHARACTERS, texts, split_punctuation, around=(before, after))


def _split(
    analyzer: int,
    texts: Texts,
    split_punctuation: bool,
    min_length: int = 1,
    keep_punctuation: bool = True,
    around: tuple[str, str] = (" ", " "),
    stop_words: WordSet = NO_WORDS,
) -> Units:
    arrays = _native.split(
        analyzer,
        *texts.rows,
        texts.is_ascii,
        classes_for(split_punctuation)(ASCII if texts.is_ascii.all() else UNICODE),
        texts.lowercase,
        min_length,
        keep_punctuation,
        ord(around[0]),
        ord(around[1]),
        stop_words.slots,
        *stop_words.words,
    )
    return Units(*arrays, int(analyzer == WORDS))


def classes_for(split_punctuation: bool) -> Callable[[int], NDArray[np.uint8]]:
    """Return the function for code point classes; words end at punctuation or only whitespace."""
    return character_classes if split_punctuation else visible_as_words
