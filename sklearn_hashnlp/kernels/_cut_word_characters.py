"""Documents cut into words, and those into characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._murmur3 import PADDING
from sklearn_hashnlp.kernels._unicode import SPACE, WORD, utf8_code_point, utf8_width


@compiled
def cut_word_characters(
    source: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    is_ascii: NDArray[np.bool_],
    classes: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    before: Number,
    after: Number,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Write the characters of each word between two marks; see :func:`sklearn_hashnlp.kernels.word_character_units`."""
    n_rows = len(offsets) - 1
    # At worst each byte is a word: three bytes and four posts.
    text = np.empty(3 * len(source) + PADDING, dtype=np.uint8)
    posts = np.empty(4 * len(source), dtype=np.int64)
    segments = np.empty(len(source) + 1, dtype=np.int64)
    rows = np.empty(n_rows + 1, dtype=np.int64)
    one = np.uint64(1)
    to = np.uint64(0)
    n_posts = np.uint64(0)
    n_segments = np.uint64(0)
    for row in range(n_rows):
        rows[row] = n_segments
        in_ascii = is_ascii[row]
        last_kind = np.uint8(SPACE)
        position = np.uint64(offsets[row])
        end = np.uint64(offsets[row + 1])
        while position < end:
            width = one
            byte = source[position]
            if in_ascii:
                kind = classes[byte]
                byte = letters[byte]
            else:
                width = np.uint64(utf8_width(byte))
                kind = classes[utf8_code_point(source, position, width)]
            goes_on = (kind == WORD) & (last_kind == WORD)
            if not goes_on:
                if last_kind != SPACE:
                    posts[n_posts] = to
                    posts[n_posts + one] = to + one
                    n_posts += np.uint64(2)
                    text[to] = after
                    to += one
                if kind != SPACE:
                    segments[n_segments] = n_posts
                    n_segments += one
                    posts[n_posts] = to
                    n_posts += one
                    text[to] = before
                    to += one
            if kind != SPACE:
                posts[n_posts] = to
                n_posts += one
                text[to] = byte
                for i in range(one, width):
                    text[to + i] = source[position + i]
                to += width
            last_kind = kind
            position += width
    rows[n_rows] = n_segments
    segments[n_segments] = n_posts
    return text, posts[: np.int64(n_posts)], segments[: np.int64(n_segments) + 1], rows
