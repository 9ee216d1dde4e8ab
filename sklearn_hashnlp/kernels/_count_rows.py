"""How many ids find each row of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hash_ids import mix_id, row_of
from sklearn_hashnlp.kernels._prefetch import prefetch_row

_AHEAD = 32  # ids between asking for a counter and raising it: long enough for memory to answer


@compiled
def _count(
    ids: NDArray[Any], a: Number, b: Number, n_rows: Number, counts: NDArray[np.int32], found: NDArray[np.int32]
) -> int:
    rows = np.empty(len(ids), dtype=np.int32)
    for place in range(len(ids)):
        rows[place] = row_of(ids[place], mix_id(ids[place]), a, b, n_rows)
    n_found, lines = 0, counts.reshape(-1, 1)
    for place in range(len(ids)):
        prefetch_row(lines, rows[min(place + _AHEAD, len(ids) - 1)])
        row = rows[place]
        found[n_found] = row  # without a branch, as nobody can predict it; overwritten if it was not the first
        n_found += counts[row] == 0
        counts[row] += 1
    return n_found


def count_rows(
    ids: NDArray[Any],  # (n,)
    constants: tuple[int, int],
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Hash ids to the rows of a table and count them there."""
    counts = np.zeros(n_rows, dtype=np.int32)  # memory that the system gives when it is written
    found = np.empty(len(ids), dtype=np.int32)
    a, b = (np.uint64(constant) for constant in constants)
    rows = np.sort(found[: _count(ids, a, b, np.uint64(n_rows), counts, found)])
    return rows, counts[rows]
