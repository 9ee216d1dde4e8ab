"""Words and characters of texts as units that n-grams are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import murmur3, murmur3_span
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._tokenize import cut_characters, cut_word_characters, cut_words
from sklearn_hashnlp.kernels._unicode import ASCII, UNICODE, WORD, ascii_letters, character_classes, visible_as_words


class WordSet(NamedTuple):
    """Words to be looked up by their bytes: an open-addressing table of 32-bit hashes, never more than half full."""

    # The number of the word in each slot, -1 where there is none. Its length is a power of two, or 0 for no words
    slots: NDArray[np.int64]
    words: Ragged  # the words in UTF-8

    @classmethod
    def of(cls, words: frozenset[str]) -> WordSet:
        """Make the table of ``words``; whatever is no ``str`` is in no text, and left out."""
        encoded = [word.encode("utf-8", "surrogatepass") for word in sorted(words, key=str) if isinstance(word, str)]
        rows = Ragged(
            np.frombuffer(b"".join(encoded), dtype=np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        )
        slots = np.full(2 << len(encoded).bit_length() if encoded else 0, -1, dtype=np.int64)
        for number, hashed in enumerate(murmur3(rows).tolist() if encoded else []):
            slot = hashed % len(slots)
            while slots[slot] >= 0:
                slot = (slot + 1) % len(slots)
            slots[slot] = number
        return cls(slots, rows)


@compiled
def drop_words(
    text: NDArray[np.uint8],
    posts: NDArray[np.int64],
    segments: NDArray[np.int64],
    slots: NDArray[np.int64],
    words: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Take the words of a :class:`WordSet`, given by its three arrays, out of cut words, in place."""
    to = 0
    n_posts = 0
    for segment in range(len(segments) - 1):
        first, last = segments[segment], segments[segment + 1] - 1
        segments[segment] = n_posts
        for post in range(first, last):
            start, stop = posts[post], posts[post + 1]  # the blank behind the word included
            if not _is_in(text, start, stop - 1, slots, words, offsets):
                posts[n_posts] = to
                n_posts += 1
                for i in range(start, stop):
                    text[to] = text[i]
                    to += 1
        posts[n_posts] = to
        n_posts += 1
    segments[len(segments) - 1] = n_posts


@compiled
def _is_in(
    text: NDArray[np.uint8],
    start: Number,
    stop: Number,
    slots: NDArray[np.int64],
    words: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> bool:
    slot = murmur3_span(text, start, stop, 0) & (len(slots) - 1)
    while slots[slot] >= 0:
        first = offsets[slots[slot]]
        if offsets[slots[slot] + 1] - first == stop - start:
            i = 0
            while i < stop - start and words[first + i] == text[start + i]:
                i += 1
            if i == stop - start:
                return True
        slot = (slot + 1) & (len(slots) - 1)
    return False


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
