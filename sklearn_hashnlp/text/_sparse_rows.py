"""Chunks of documents turned, on several threads, into the rows of one sparse matrix."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sklearn_hashnlp._sklearn import in_configured_sparse_interface

_MOST_ROOM_AHEAD = 2**25
"""Values that room is made for before they come; memory that is not written to yet is not taken yet either."""


class Rows(NamedTuple):
    """Some rows of a CSR matrix, with the names that scipy gives to its arrays."""

    indices: NDArray[np.int32]
    data: NDArray[Any]
    indptr: NDArray[np.int64]


def sparse_matrix(
    chunks: Iterable[tuple[int, list[Any]]],
    make_rows: Callable[[int, list[Any]], Iterator[Rows]],
    *,
    n_documents: int | None,
    n_features: int,
    dtype: type[np.floating[Any]],
    n_jobs: int | None,
) -> Any:
    """Stack the rows of all chunks.

    Parameters
    ----------
    chunks : iterable of (int, list)
        The position of each chunk's first document, and its documents.
    make_rows : callable
        Makes the rows of one chunk, in one or more pieces. It runs on several threads, so it must leave the estimator
        as it is.
    n_documents : int or None
        How many documents will come, if that is known: room is then made for all at once.
    n_features : int
        The number of columns.
    dtype : type
        Of the values.
    n_jobs : int or None
        The number of threads, as joblib counts them.

    Returns
    -------
    sparse matrix or sparse array of shape (n_documents, n_features)
        CSR in canonical format: columns ascending, none twice. int32 indices unless there are over 2**31 - 1 values.
    """
    indices = np.empty(0, dtype=np.int32)
    data = np.empty(0, dtype=dtype)
    row_ends = []
    size = n_rows = 0
    for rows in _in_order(chunks, make_rows, effective_n_jobs(n_jobs)):
        n_rows += len(rows.indptr) - 1
        row_ends.append(rows.indptr[1:] + size)
        end = size + len(rows.indices)
        if end > len(indices):
            capacity = _capacity(end, n_rows, n_documents)
            indices = _grown(indices, size, capacity)
            data = _grown(data, size, capacity)
        indices[size:end] = rows.indices
        data[size:end] = rows.data
        size = end
    # Given back without a copy: nobody else holds these arrays.
    indices.resize(size, refcheck=False)
    data.resize(size, refcheck=False)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *row_ends])
    if size <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    matrix = csr_matrix((data, indices, indptr), shape=(n_rows, n_features))
    matrix.has_canonical_format = True
    return in_configured_sparse_interface(matrix)


def _capacity(n_values: int, n_rows: int, n_documents: int | None) -> int:
    """Guess how many values there will be, from those of the first rows."""
    expected = 2 * n_values if n_documents is None else int(1.1 * n_values / n_rows * n_documents)
    # The first documents may be the longest by far, so the guess is held within bounds.
    return max(n_values, min(expected, n_values + max(n_values, _MOST_ROOM_AHEAD)))


def _grown(array: NDArray[Any], size: int, capacity: int) -> NDArray[Any]:
    larger = np.empty(capacity, dtype=array.dtype)
    larger[:size] = array[:size]
    return larger


def _in_order(
    chunks: Iterable[tuple[int, list[Any]]],
    make_rows: Callable[[int, list[Any]], Iterator[Rows]],
    n_threads: int,
) -> Iterator[Rows]:
    if n_threads == 1:
        for chunk in chunks:
            yield from make_rows(*chunk)
        return

    def make_list(first: int, chunk: list[Any]) -> list[Rows]:
        return list(make_rows(first, chunk))

    waiting: deque[Future[list[Rows]]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for chunk in chunks:
                waiting.append(pool.submit(make_list, *chunk))
                if len(waiting) > 2 * n_threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
