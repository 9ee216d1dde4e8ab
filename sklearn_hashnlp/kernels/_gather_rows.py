"""Some rows of a CSR matrix, copied end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._prefetch import prefetch_row

_AHEAD = 4  # rows between asking for one and copying it: long enough for memory to answer
_LINE = 16  # values that memory gives at once


@compiled
def _offsets(indptr: NDArray[Any], rows: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
    offsets[0] = 0
    for place in range(len(rows)):
        offsets[place + 1] = offsets[place] + indptr[rows[place] + 1] - indptr[rows[place]]


@compiled
def _copy(
    indices: NDArray[Any],
    data: NDArray[Any],
    indptr: NDArray[Any],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    columns: NDArray[Any],
    values: NDArray[Any],
) -> None:
    lines_of_indices, lines_of_data = indices.reshape(-1, 1), data.reshape(-1, 1)
    for place in range(len(rows)):
        ahead = rows[min(place + _AHEAD, len(rows) - 1)]
        for step in range(indptr[ahead], indptr[ahead + 1], _LINE):
            prefetch_row(lines_of_indices, step)
            prefetch_row(lines_of_data, step)
        start, stop = indptr[rows[place]], indptr[rows[place] + 1]
        columns[offsets[place] : offsets[place + 1]] = indices[start:stop]
        values[offsets[place] : offsets[place + 1]] = data[start:stop]


def gather_rows(
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[Any],  # (n_values,)
    indptr: NDArray[Any],  # (n_rows + 1,)
    rows: NDArray[np.int64],  # (n,)
    *,
    index_dtype: Any = np.int64,
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64]]:
    """Copy rows of a CSR matrix."""
    offsets = np.empty(len(rows) + 1, dtype=np.int64)
    _offsets(indptr, rows, offsets)
    columns = np.empty(offsets[-1], dtype=index_dtype)
    values = np.empty(offsets[-1], dtype=np.float32)
    _copy(indices, data, indptr, rows, offsets, columns, values)
    return columns, values, offsets
