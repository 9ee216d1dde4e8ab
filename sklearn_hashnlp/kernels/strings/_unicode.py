"""The character classes of tokenizers, as tables over Unicode, and UTF-8 decoding inside kernels."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, inner

ASCII, UNICODE = 0x80, 0x110000
"""Numbers of code points."""

OTHER, WORD, SPACE = 0, 1, 2
r"""Character classes: ``\w`` and ``\s`` of a ``str`` pattern in :mod:`re`, and all others."""


@cache
def character_classes(n_code_points: int = UNICODE) -> NDArray[np.uint8]:
    r"""Return the class of each code point: whether :mod:`re` matches it by ``\w``, by ``\s`` or by neither."""
    # One string per character: numpy uses the Unicode tables of CPython, as `re` does, without a loop in Python.
    characters = np.arange(n_code_points, dtype=np.uint32).view("U1")
    classes = np.full(n_code_points, OTHER, dtype=np.uint8)
    classes[np.strings.isalnum(characters)] = WORD
    classes[ord("_")] = WORD
    classes[np.strings.isspace(characters)] = SPACE
    return classes


@cache
def visible_as_words(n_code_points: int = UNICODE) -> NDArray[np.uint8]:
    """Return the class of each code point; all except whitespace are word characters."""
    return np.where(character_classes(n_code_points) == SPACE, np.uint8(SPACE), np.uint8(WORD))


@cache
def ascii_mapping(lowercase: bool) -> NDArray[np.uint8]:
    """Return the table that maps each ASCII character to itself, or to its lowercase."""
    table = np.arange(ASCII, dtype=np.uint8)
    if lowercase:
        table[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
    return table


@inner
def utf8_width(first_byte: Number) -> Number:
    """Return the number of bytes, 1 to 4, of the UTF-8 character that starts with ``first_byte``."""
    return 1 + (first_byte >= 0xC0) + (first_byte >= 0xE0) + (first_byte >= 0xF0)


@inner
def utf8_code_point(text: NDArray[np.uint8], position: Number, width: Number) -> Number:
    """Decode the UTF-8 character of ``width`` bytes at ``position`` of a well-formed text."""
    code_point = np.int64(text[position])
    if width > 1:
        code_point &= 0x7F >> width
        for i in range(position + 1, position + width):
            code_point = code_point << 6 | np.int64(text[i]) & 0x3F
    return code_point
