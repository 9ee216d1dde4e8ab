"""Tokenizers: documents split into words, characters, or the characters of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._hashes import PADDING
from sklearn_hashnlp.kernels.strings._ascii_words import copy_word, find_ascii_words
from sklearn_hashnlp.kernels.strings._unicode import OTHER, SPACE, WORD, utf8_code_point, utf8_width

SPACE_BYTE = 32  # written after each word, and for each run of whitespace between characters

_BLOCK = 8  # boundaries that are written at once
_MARK, _CAPITAL = ord("!"), ord("A")  # characters by which tables are told apart


@compiled
def split_words(
    documents: NDArray[np.uint8],  # (n_bytes,): in UTF-8
    offsets: NDArray[np.int64],  # (n_rows + 1,)
    is_ascii: NDArray[np.bool_],  # (n_rows,)
    classes: NDArray[np.uint8],  # (n_code_points,): of each character
    lowercase: bool,  # whether to lowercase ASCII documents
    min_length: Number,  # at least 1; of words, not of punctuation
    keep_punctuation: bool,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Split each row into words, a space after each; see ``word_units``."""
    n_rows = len(offsets) - 1
    text = np.empty(2 * len(documents) + n_rows + PADDING, dtype=np.uint8)
    boundaries = np.empty(len(documents) + n_rows, dtype=np.int64)
    segments = np.empty(n_rows + 1, dtype=np.int64)
    lower, starts, stops = find_ascii_words(documents, classes[_MARK] == OTHER, lowercase, keep_punctuation)
    word = np.uint64(0)
    to = np.uint64(0)
    n_boundaries = np.uint64(0)
    for row in range(n_rows):
        segments[row] = n_boundaries
        start, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        if is_ascii[row]:
            while starts[word] < offsets[row + 1]:
                shortest = 1 if keep_punctuation and classes[lower[starts[word]]] == OTHER else min_length
                to, n_boundaries = copy_word(
                    lower, starts[word], stops[word], shortest, text, to, boundaries, n_boundaries
                )
                word += np.uint64(1)
        else:
            while starts[word] < offsets[row + 1]:
                word += np.uint64(1)
            to, n_boundaries = _split_unicode_words(
                documents, start, end, classes, min_length, keep_punctuation, text, to, boundaries, n_boundaries
            )
        boundaries[n_boundaries] = to
        n_boundaries += np.uint64(1)
    segments[n_rows] = n_boundaries
    return text, boundaries[: np.int64(n_boundaries)], segments


@inner
def _split_unicode_words(
    documents: NDArray[np.uint8],
    start: Number,
    end: Number,
    classes: NDArray[np.uint8],
    min_length: Number,
    keep_punctuation: bool,
    text: NDArray[np.uint8],
    to: Number,
    boundaries: NDArray[np.int64],
    n_boundaries: Number,
) -> tuple[Number, Number]:
    """Split a row of any characters."""
    one = np.uint64(1)
    begin = to
    length = 0  # of the run of word characters being written, in characters
    position = start
    while position < end:
        width = np.uint64(utf8_width(documents[position]))
        kind = classes[utf8_code_point(documents, position, width)]
        if kind != WORD:
            if length >= min_length:
                boundaries[n_boundaries] = begin
                n_boundaries += one
                text[to] = SPACE_BYTE
                begin = to + one
            to = begin
            length = 0
        if kind == WORD or (kind == OTHER and keep_punctuation):
            for i in range(width):
                text[to + i] = documents[position + i]
            to += width
        if kind == WORD:
            length += 1
        elif to > begin:
            boundaries[n_boundaries] = begin
            n_boundaries += one
            text[to] = SPACE_BYTE
            to += one
            begin = to
        position += width
    return to, n_boundaries


@compiled
def split_characters(
    documents: NDArray[np.uint8],  # (n_bytes,): in UTF-8
    offsets: NDArray[np.int64],  # (n_rows + 1,)
    is_ascii: NDArray[np.bool_],  # (n_rows,)
    classes: NDArray[np.uint8],  # (n_code_points,): of each character
    mapping: NDArray[np.uint8],  # (128,): each ASCII character as it is written
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Split each row into characters; see ``character_units``."""
    n_rows = len(offsets) - 1
    text = np.empty(len(documents) + PADDING, dtype=np.uint8)
    boundaries = np.empty(len(documents) + n_rows, dtype=np.int64)
    segments = np.empty(n_rows + 1, dtype=np.int64)
    one = np.uint64(1)
    to = np.uint64(0)
    n_boundaries = np.uint64(0)
    for row in range(n_rows):
        segments[row] = n_boundaries
        start, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1] - 1)  # without the line feed
        # A run of whitespace becomes one space, but a single whitespace character is kept.
        in_space = False
        if is_ascii[row]:
            for position in range(start, end):
                byte = documents[position]
                is_space = classes[byte] == SPACE
                continues = is_space & in_space
                to -= np.uint64(continues)
                n_boundaries -= np.uint64(continues)
                boundaries[n_boundaries] = to
                n_boundaries += one
                text[to] = SPACE_BYTE if continues else mapping[byte]
                to += one
                in_space = is_space
        else:
            at = start
            while at < end:
                width = np.uint64(utf8_width(documents[at]))
                is_space = classes[utf8_code_point(documents, at, width)] == SPACE
                if is_space and in_space:
                    to = np.uint64(boundaries[n_boundaries - one])
                    text[to] = SPACE_BYTE
                    to += one
                else:
                    boundaries[n_boundaries] = to
                    n_boundaries += one
                    for i in range(width):
                        text[to + i] = documents[at + i]
                    to += width
                in_space = is_space
                at += width
        boundaries[n_boundaries] = to
        n_boundaries += one
    segments[n_rows] = n_boundaries
    return text, boundaries[: np.int64(n_boundaries)], segments


@compiled
def split_word_characters(
    documents: NDArray[np.uint8],  # (n_bytes,): in UTF-8
    offsets: NDArray[np.int64],  # (n_rows + 1,)
    is_ascii: NDArray[np.bool_],  # (n_rows,)
    classes: NDArray[np.uint8],  # (n_code_points,): of each character
    mapping: NDArray[np.uint8],  # (128,): each ASCII character as it is written
    before: Number,
    after: Number,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split words into characters, with one more before and after each word; see :func:`word_character_units`."""
    n_rows = len(offsets) - 1
    # At worst each byte is a word: three bytes and four boundaries.
    text = np.empty(3 * len(documents) + PADDING, dtype=np.uint8)
    boundaries = np.empty(4 * len(documents) + _BLOCK, dtype=np.int64)
    segments = np.empty(len(documents) + 1, dtype=np.int64)
    rows = np.empty(n_rows + 1, dtype=np.int64)
    lower, starts, stops = find_ascii_words(documents, classes[_MARK] == OTHER, mapping[_CAPITAL] != _CAPITAL, True)
    one = np.uint64(1)
    word = np.uint64(0)
    to = np.uint64(0)
    n_boundaries = np.uint64(0)
    n_segments = np.uint64(0)
    for row in range(n_rows):
        rows[row] = n_segments
        position, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        while starts[word] < offsets[row + 1]:
            if is_ascii[row]:
                segments[n_segments] = n_boundaries
                n_segments += one
                text[to] = before
                # A word that ends a segment, with a space after it, at a boundary that is overwritten.
                behind, _ = copy_word(lower, starts[word], stops[word], 1, text, to + one, boundaries, n_boundaries)
                text[behind - one] = after
                for first in range(to, behind + one, np.uint64(_BLOCK)):  # excess boundaries are overwritten
                    for i in range(np.uint64(_BLOCK)):
                        boundaries[n_boundaries + (first - to) + i] = first + i
                n_boundaries += behind + one - to
                to = behind
            word += one
        last_kind: Number = np.uint8(SPACE)
        while position < end and not is_ascii[row]:
            width = np.uint64(utf8_width(documents[position]))
            kind = classes[utf8_code_point(documents, position, width)]
            continues = (kind == WORD) & (last_kind == WORD)
            if not continues:
                if last_kind != SPACE:
                    boundaries[n_boundaries] = to
                    boundaries[n_boundaries + one] = to + one
                    n_boundaries += np.uint64(2)
                    text[to] = after
                    to += one
                if kind != SPACE:
                    segments[n_segments] = n_boundaries
                    n_segments += one
                    boundaries[n_boundaries] = to
                    n_boundaries += one
                    text[to] = before
                    to += one
            if kind != SPACE:
                boundaries[n_boundaries] = to
                n_boundaries += one
                for i in range(width):
                    text[to + i] = documents[position + i]
                to += width
            last_kind = kind
            position += width
    rows[n_rows] = n_segments
    segments[n_segments] = n_boundaries
    return text, boundaries[: np.int64(n_boundaries)], segments[: np.int64(n_segments) + 1], rows
