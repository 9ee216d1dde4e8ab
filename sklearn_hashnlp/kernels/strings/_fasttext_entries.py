"""The entries of the dictionary in a file of fastText: a name, NUL, a count of eight bytes and a type of one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled

_TAIL = 10  # bytes after a name


def fasttext_entries(
    content: NDArray[np.uint8], start: int, n_entries: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], int]:
    """Split the bytes from ``start`` on.

    Returns the names end to end, where each begins (n_entries + 1), counts, types, and where the entries end; or -1 for
    that if the content ends before them.
    """
    offsets = np.zeros(n_entries + 1, dtype=np.int64)
    counts, types = np.empty(n_entries, dtype=np.int64), np.empty(n_entries, dtype=np.uint8)
    end = int(_find_entries(content, start, offsets, counts, types))
    names = np.empty(offsets[-1] if end >= 0 else 0, dtype=np.uint8)
    if end >= 0:
        _copy_names(content, start, offsets, names)
    return names, offsets, counts, types, end


@compiled
def _find_entries(
    content: NDArray[np.uint8],
    start: Number,
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    types: NDArray[np.uint8],
) -> Number:
    at = start
    for entry in range(len(counts)):
        begin = at
        while at < len(content) and content[at] != 0:
            at += 1
        if at + _TAIL > len(content):
            return -1
        offsets[entry + 1] = offsets[entry] + at - begin
        count = np.uint64(0)
        for i in range(8):
            count |= np.uint64(content[at + 1 + i]) << np.uint64(8 * i)
        counts[entry], types[entry] = np.int64(count), content[at + 9]
        at += _TAIL
    return at


@compiled
def _copy_names(
    content: NDArray[np.uint8], start: Number, offsets: NDArray[np.int64], names: NDArray[np.uint8]
) -> None:
    at = start
    for entry in range(len(offsets) - 1):
        for i in range(offsets[entry], offsets[entry + 1]):
            names[i] = content[at]
            at += 1
        at += _TAIL
