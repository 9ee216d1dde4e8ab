"""Which rows of a sparse matrix are the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@compiled
def _find(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.int64],
    slots: NDArray[np.int64],
    firsts: NDArray[np.int64],
) -> None:
    mask = np.uint64(len(slots) - 1)
    for row in range(len(firsts)):
        start, stop = indptr[row], indptr[row + 1]
        state = np.uint64(stop - start)
        for place in range(start, stop):
            state = (state ^ np.uint64(indices[place])) * _FACTOR
            state = (state ^ (state >> _HALF) ^ np.uint64(data[place])) * _FACTOR
        slot = np.int64((state ^ (state >> _HALF)) & mask)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = firsts[row] = row
                break
            shift = indptr[other] - start
            if indptr[other + 1] - stop == shift:
                place = start
                while place < stop and indices[place] == indices[place + shift] and data[place] == data[place + shift]:
                    place += 1
                if place == stop:
                    firsts[row] = other
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)


def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix which one is the first that is equal to it."""
    n_rows = len(indptr) - 1
    firsts = np.empty(n_rows, dtype=np.int64)
    slots = np.full(2 << n_rows.bit_length(), -1, dtype=np.int64)
    _find(indptr, indices, data.view(np.int64), slots, firsts)
    return firsts
