"""Equal rows of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._hashes import GAMMA

_HALF_WORD = np.uint64(32)


@compiled
def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix the first row that is equal to it, bit by bit."""
    n_rows, n_slots = len(indptr) - 1, 2
    while n_slots <= 2 * n_rows:
        n_slots *= 2
    firsts, slots = np.empty(n_rows, dtype=np.int64), np.full(n_slots, -1, dtype=np.int64)
    words = data.view(np.int64)
    mask = np.uint64(len(slots) - 1)
    for row in range(len(firsts)):
        start, stop = indptr[row], indptr[row + 1]
        state = np.uint64(stop - start)
        for i in range(start, stop):  # in any order, since columns ascend: no step depends on the previous one
            mixed = (np.uint64(indices[i]) * GAMMA) ^ np.uint64(words[i])
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
                while i < stop and indices[i] == indices[i + shift] and words[i] == words[i + shift]:
                    i += 1
                if i == stop:
                    firsts[row] = other
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)
    return firsts
