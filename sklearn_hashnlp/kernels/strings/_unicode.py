"""The character classes of tokenizers, as tables over Unicode."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

ASCII, UNICODE = 0x80, 0x110000
"""Numbers of code points."""

OTHER = 0
WORD = 1
SPACE = 2
r"""Character classes: ``\w`` and ``\s`` of a ``str`` pattern in :mod:`re`, and all others."""


@cache
def character_classes(n_code_points: int = UNICODE) -> NDArray[np.uint8]:
    r"""Return the class of each code point: ``\w`` or ``\s`` of :mod:`re`, or neither."""
    # One string per character: numpy uses the Unicode tables of CPython, as `re` does, without a
    # loop in Python.
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
