"""Join Python's strings to one buffer of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


class Lines(NamedTuple):
    """Lines in one buffer."""

    buffer: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # (n_lines + 1,)
    is_ascii: NDArray[np.bool_]  # (n_lines,)


def join_lines(texts: list[str], around: tuple[str, str], encode: Callable[[int], bytes]) -> Lines:
    """Join texts to lines: ``around`` encloses ASCII texts, ``encode`` makes the line of others."""
    begin, end = around
    reads_ascii = f"{begin}{end}".isascii()  # else all lines are made by ``encode``
    return Lines(*_native.join_lines(texts, begin.encode(), end.encode(), reads_ascii, encode))
