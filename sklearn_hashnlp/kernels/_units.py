"""Texts cut into the units that n-grams are made of: words, characters, or the characters of single words.

All three cuts give one layout, :class:`Units`, so that one kernel hashes the n-grams of any of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._cut_characters import cut_characters
from sklearn_hashnlp.kernels._cut_word_characters import cut_word_characters
from sklearn_hashnlp.kernels._cut_words import cut_words
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._unicode import ASCII, UNICODE, WORD, ascii_letters, character_classes, visible_as_words
from sklearn_hashnlp.kernels._word_set import WordSet, drop_words

_BLANK = 32


class Texts(NamedTuple):
    """Many documents in one buffer, ready to be cut."""

    # The documents in UTF-8, each with a line feed behind it that is no part of it: it ends the last word. A lone
    # surrogate stands there as the three bytes of its code point
    rows: Ragged
    is_ascii: NDArray[np.bool_]  # (n_rows,): the documents of ASCII alone, which need no decoding
    # Whether the capitals of *those* documents become small letters on the way; the others come as they are to be
    lowercase: bool


class Units(NamedTuple):
    """Rows made of segments made of units; an n-gram is n neighbouring units of one segment, thus one span of bytes."""

    text: NDArray[np.uint8]  # the units' bytes, end to end, with room behind the last one for the hash to read on
    posts: NDArray[np.int64]  # the posts of the segments, one after the other
    segments: NDArray[np.int64]  # (n_segments + 1,): where each segment's posts begin in ``posts``
    rows: NDArray[np.int64]  # (n_rows + 1,): where each row's segments begin in ``segments``
    gap: int  # the bytes between a unit and the next: 1 between words, 0 between characters


def word_units(
    texts: Texts,
    *,
    min_length: int = 1,
    keep_punctuation: bool = True,
    split_punctuation: bool = True,
    stop_words: WordSet | None = None,
) -> Units:
    r"""Cut texts into words: runs of ``\w``, and on demand every other visible character as a word of its own."""
    classes = _classes(texts, split_punctuation)
    letters = np.where(classes[:ASCII] == WORD, ascii_letters(texts.lowercase), np.uint8(_BLANK))
    text, posts, segments = cut_words(*texts.rows, texts.is_ascii, classes, letters, min_length, keep_punctuation)
    if stop_words is not None and len(stop_words.slots) > 0:
        drop_words(text, posts, segments, stop_words.slots, *stop_words.words)
    return Units(text, posts, segments, np.arange(len(segments)), 1)


def character_units(texts: Texts) -> Units:
    r"""Cut texts into characters, each run of two or more of ``\s`` become one blank."""
    classes = _classes(texts, split_punctuation=False)
    letters = ascii_letters(texts.lowercase)
    text, posts, segments = cut_characters(*texts.rows, texts.is_ascii, classes, letters)
    return Units(text, posts, segments, np.arange(len(segments)), 0)


def word_character_units(texts: Texts, *, before: str, after: str, split_punctuation: bool = False) -> Units:
    """Cut texts into words and those, between two marks, into characters."""
    classes = _classes(texts, split_punctuation)
    letters = ascii_letters(texts.lowercase)
    text, posts, segments, words = cut_word_characters(
        *texts.rows, texts.is_ascii, classes, letters, ord(before), ord(after)
    )
    return Units(text, posts, segments, words, 0)


def _classes(texts: Texts, split_punctuation: bool) -> NDArray[np.uint8]:
    table = character_classes if split_punctuation else visible_as_words
    return table(ASCII if texts.is_ascii.all() else UNICODE)
