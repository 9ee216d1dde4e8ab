"""Equal rows of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._hashes import GAMMA

_HALF_WORD = np.uint64(32)


def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix the first row that is equal to it, bit by bit."""
    n_rows = len(indptr) - 1
    firsts = np.empty(n_rows, dtype=np.int64)
    slots = np.full(2 << n_rows.bit_length(), -1, dtype=np.int64)
    _find_equal_rows(indptr, indices, data.view(np.int64), slots, firsts)
    return firsts


@compiled
def _find_equal_rows(
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
        for i in range(start, stop):  # in any order, since columns ascend: no step depends on the previous one
            mixed = (np.uint64(indices[i]) * GAMMA) ^ np.uint64(data[i])
            state += (mixed ^ (mixed >> _HALF_WORD)) * GAMMA
        slot = np.int64((state ^ (state >> _HALF_WORD)) & mask)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = firsts[row] = row
                break
            shift = indptr[other] - start
            if indptr[other + 1] - stop == shift:
                i = start
                while i < stop and indices[i] == indices[i + shift] and data[i] == data[i + shift]:
                    i += 1
                if i == stop:
                    firsts[row] = other
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)
