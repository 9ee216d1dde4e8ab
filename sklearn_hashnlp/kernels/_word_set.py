"""A set of words that kernels can look into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._murmur3 import murmur3, murmur3_span
from sklearn_hashnlp.kernels._ragged import Ragged


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
