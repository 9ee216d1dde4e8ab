"""Documents cut into characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._murmur3 import PADDING
from sklearn_hashnlp.kernels._unicode import SPACE, utf8_code_point, utf8_width

_BLANK = 32


@compiled
def cut_characters(
    source: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    is_ascii: NDArray[np.bool_],
    classes: NDArray[np.uint8],
    letters: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Write the characters of each row; see :func:`sklearn_hashnlp.kernels.character_units`."""
    n_rows = len(offsets) - 1
    text = np.empty(len(source) + PADDING, dtype=np.uint8)
    posts = np.empty(len(source) + n_rows, dtype=np.int64)
    segments = np.empty(n_rows + 1, dtype=np.int64)
    one = np.uint64(1)
    to = np.uint64(0)
    n_posts = np.uint64(0)
    for row in range(n_rows):
        segments[row] = n_posts
        start, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1] - 1)  # without the line feed
        # A run of white space becomes one blank, but a single character of it stays what it is.
        in_space = False
        if is_ascii[row]:
            for position in range(start, end):
                byte = source[position]
                is_space = classes[byte] == SPACE
                goes_on = is_space & in_space
                to -= np.uint64(goes_on)
                n_posts -= np.uint64(goes_on)
                posts[n_posts] = to
                n_posts += one
                text[to] = _BLANK if goes_on else letters[byte]
                to += one
                in_space = is_space
        else:
            at = start
            while at < end:
                width = np.uint64(utf8_width(source[at]))
                is_space = classes[utf8_code_point(source, at, width)] == SPACE
                if is_space and in_space:
                    to = np.uint64(posts[n_posts - one])
                    text[to] = _BLANK
                    to += one
                else:
                    posts[n_posts] = to
                    n_posts += one
                    for i in range(width):
                        text[to + i] = source[at + i]
                    to += width
                in_space = is_space
                at += width
        posts[n_posts] = to
        n_posts += one
    segments[n_rows] = n_posts
    return text, posts[: np.int64(n_posts)], segments
