"""Rows of a sparse matrix projected on random hyperplanes, without a matrix of hyperplanes."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.projections._hyperplanes import Hyperplanes

_FORMS = {"bits": 0, "signs": 1, "packed": 2, "sums": 3}
ProjectionForm: TypeAlias = Literal["bits", "signs", "packed", "sums"]

_MAX_COLUMNS = 2**15  # of a chunk of rows: a table of 5 MB
_MAX_ENTRIES = 2**20  # of a chunk: 5 MB
_MAX_SLICE = 2**12  # values of a row that are appended to a chunk at a time


def project_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[Any],  # (n_values,): int32 or int64, ascending within a row
    data: NDArray[np.float64],  # (n_values,)
    hyperplanes: Hyperplanes,
    form: ProjectionForm,
    out: NDArray[Any],  # (n_rows, n), or (n_rows, ceil(n / 8)) if packed
) -> None:
    """Project the rows of a CSR matrix on hyperplanes; equal rows are projected once."""
    firsts = first_equal_rows(indptr, indices, data)
    limits = (_MAX_COLUMNS, _MAX_ENTRIES, _MAX_SLICE)
    _native.project_rows(
        indptr, indices, data, firsts, *hyperplanes, _FORMS[form], out.view(np.uint8), *limits
    )


def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix the first row that is equal to it, bit by bit."""
    firsts = np.empty(len(indptr) - 1, dtype=np.int64)
    _native.first_equal_rows(indptr, indices, data, firsts)
    return firsts
