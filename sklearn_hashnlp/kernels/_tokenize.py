"""Texts split into words, characters, or the characters of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import PADDING
from sklearn_hashnlp.kernels._unicode import OTHER, SPACE, WORD, utf8_code_point, utf8_width

_BLANK = 32


@compiled
def cut_words(
    source: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    is_ascii: NDArray[np.bool_],
    classes: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    min_length: Number,
    keep_punctuation: bool,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Write the words of each row, a blank behind each; see :func:`sklearn_hashnlp.kernels.word_units`."""
    n_rows = len(offsets) - 1
    text = np.empty(2 * len(source) + n_rows + PADDING, dtype=np.uint8)
    posts = np.empty(len(source) + n_rows, dtype=np.int64)
    segments = np.empty(n_rows + 1, dtype=np.int64)
    to = np.uint64(0)
    n_posts = np.uint64(0)
    for row in range(n_rows):
        segments[row] = n_posts
        start, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        if is_ascii[row]:
            to, n_posts = _cut_ascii(
                source, start, end, classes, letters, min_length, keep_punctuation, text, to, posts, n_posts
            )
        else:
            to, n_posts = _cut_unicode(
                source, start, end, classes, min_length, keep_punctuation, text, to, posts, n_posts
            )
        posts[n_posts] = to
        n_posts += np.uint64(1)
    segments[n_rows] = n_posts
    return text, posts[: np.int64(n_posts)], segments


@compiled
def _cut_ascii(
    source: NDArray[np.uint8],
    start: Number,
    end: Number,
    classes: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    min_length: Number,
    keep_punctuation: bool,
    text: NDArray[np.uint8],
    to: Number,
    posts: NDArray[np.int64],
    n_posts: Number,
) -> tuple[Number, Number]:
    """Cut one row of ASCII alone. Unsigned numbers spare the loops their tests for negative positions."""
    one = np.uint64(1)
    shortest = np.uint64(min_length)
    begin = to  # of the run of letters being written
    for position in range(start, end):
        # Where words end cannot be predicted, so nothing here branches on it: all is written, and what is no part of
        # a word is written over by what comes next.
        byte = letters[source[position]]
        text[to] = byte
        posts[n_posts] = begin
        is_letter = byte != _BLANK
        is_long = to - begin >= shortest
        n_posts += np.uint64(is_long & (not is_letter))
        behind_run = to + one if is_long else begin
        to = to + one if is_letter else behind_run
        begin = begin if is_letter else to
        if keep_punctuation and classes[source[position]] == OTHER:
            text[to] = source[position]
            text[to + one] = _BLANK
            posts[n_posts] = to
            n_posts += one
            to += np.uint64(2)
            begin = to
    return to, n_posts


@compiled
def _cut_unicode(
    source: NDArray[np.uint8],
    start: Number,
    end: Number,
    classes: NDArray[np.uint8],
    min_length: Number,
    keep_punctuation: bool,
    text: NDArray[np.uint8],
    to: Number,
    posts: NDArray[np.int64],
    n_posts: Number,
) -> tuple[Number, Number]:
    """Cut one row of any characters."""
    one = np.uint64(1)
    begin = to
    length = 0  # of the run of letters being written, in characters
    position = start
    while position < end:
        width = np.uint64(utf8_width(source[position]))
        kind = classes[utf8_code_point(source, position, width)]
        if kind != WORD:
            if length >= min_length:
                posts[n_posts] = begin
                n_posts += one
                text[to] = _BLANK
                begin = to + one
            to = begin
            length = 0
        if kind == WORD or (kind == OTHER and keep_punctuation):
            for i in range(width):
                text[to + i] = source[position + i]
            to += width
        if kind == WORD:
            length += 1
        elif to > begin:
            posts[n_posts] = begin
            n_posts += one
            text[to] = _BLANK
            to += one
            begin = to
        position += width
    return to, n_posts


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
