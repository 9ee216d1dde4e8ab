"""Sparse rows with their targets, and their checks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sklearn_hashnlp.kernels._rows import gather_rows
from sklearn_hashnlp.kernels.linear._linear_model import inspect_rows
from sklearn_hashnlp.training._validation_split import Samples, shared_values

LARGE, SMALL = 1e15, 1e-15  # between them squares neither overflow nor underflow in float32
_ROWS_WITH_COMMON = 1000  # rows that are compared for columns that all have
_MOST_CROPS = 1000  # more change the fit of probabilities little
# two vectorizers of 2**30 columns each, and more; kernels read 32 bits
MAX_COLUMNS = 2**31 - 1 + 2**16


def canonical_rows(X: Any, *, any_scale: bool) -> csr_array:
    """Sort columns, sum duplicates and drop zeros; rescale extreme rows only if ``any_scale``."""
    if X.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"X has {X.shape[1]} columns, at most 2**31 - 1 + 2**16 are supported. Let the "
            "vectorizers make fewer, such as HashingNgramVectorizer(n_features=2**28)."
        )
    matrix = csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
        if not np.isfinite(matrix.data).all():
            raise ValueError(
                "X has entries of the same row and column that add up to infinity in float32."
            )
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    if not matrix.nnz or (matrix.data.min() >= SMALL and matrix.data.max() <= LARGE):
        return matrix  # the usual case, counts, without a copy
    if any_scale:
        # reduceat needs a value at the start of an empty last row: the appended zero. Empty rows
        # are repeated 0 times.
        largest = np.maximum.reduceat(
            np.append(np.abs(matrix.data), np.float32(0)), matrix.indptr[:-1]
        )
        extreme = (largest > LARGE) | (largest < SMALL)
        if extreme.any():
            # dividing by 1 does not change the other rows
            divisor = np.where(extreme, largest, np.float32(1))
            data = matrix.data / np.repeat(divisor, np.diff(matrix.indptr))
            matrix = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        index = int(np.abs(matrix.data).argmax())
        if abs(matrix.data[index]) > LARGE:
            row = int(np.searchsorted(matrix.indptr, index, side="right")) - 1
            raise ValueError(
                f"X has the value {matrix.data[index]:g} in row {row}, and normalize=None takes "
                f"absolute values up to {LARGE:g} only: the squares of larger ones overflow in "
                "float32. Scale X down, or set normalize='l2'."
            )
    return matrix


def plain_rows(X: Any, n_columns: int) -> SparseRows | None:
    """Return rows of a matrix that needs no check or conversion, such as counts; else None."""
    if not issparse(X) or X.format != "csr" or X.dtype != np.float32 or X.ndim != 2:
        return None
    if X.shape[1] != n_columns or n_columns > MAX_COLUMNS:
        return None
    facts = inspect_rows(X.indices, X.indptr, X.data, n_columns)
    return (
        SparseRows(X)
        if facts.is_valid and facts.smallest >= SMALL and facts.largest <= LARGE
        else None
    )


class SparseRows(Samples):
    """Rows of a CSR matrix with their targets."""

    def __init__(
        self,
        matrix: Any,
        targets: NDArray[Any] | None = None,
        row_weights: NDArray[np.float32] | None = None,
    ) -> None:
        self.indices: NDArray[Any] = np.ascontiguousarray(matrix.indices)
        self.indptr: NDArray[np.int64] = matrix.indptr.astype(np.int64)
        self.data: NDArray[Any] = np.ascontiguousarray(matrix.data)
        super().__init__(matrix.shape[0], targets, row_weights)

    @classmethod
    def of_one(cls, indices: NDArray[np.int32], data: NDArray[np.float32]) -> Self:
        """Return one row, without a target."""
        row = cls.__new__(cls)
        row.indices = indices
        row.data = data
        row.indptr = np.array([0, len(indices)], dtype=np.int64)
        Samples.__init__(row, 1, None, None)
        return row

    def select(self, rows: NDArray[np.int64]) -> Self:
        """Return some of the rows."""
        part = type(self).__new__(type(self))
        part.indices, part.data, part.indptr = gather_rows(
            self.indices, self.data, self.indptr, rows
        )
        part.targets = self.targets[rows]
        part.row_weights = None if self.row_weights is None else self.row_weights[rows]
        return part

    def joined(self, other: SparseRows) -> Self:
        """Return these rows and others after them."""
        both = type(self).__new__(type(self))
        for name in ("indices", "data", "targets"):
            setattr(both, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        both.indptr = np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]])
        both.row_weights = None
        if self.row_weights is not None and other.row_weights is not None:
            both.row_weights = np.concatenate([self.row_weights, other.row_weights])
        return both

    def common_columns(self) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the columns that all rows have, such as start and end marks, and shared values."""
        step = -(-len(self) // _ROWS_WITH_COMMON)
        some = self if step <= 1 else self.select(np.arange(0, len(self), step))
        first = some.indices[: some.indptr[1]] if len(some) else some.indices
        if not len(first):
            return super().common_columns()
        at = np.minimum(np.searchsorted(first, some.indices), len(first) - 1)
        found = first[at] == some.indices
        smallest, largest = (
            np.full(len(first), bound, dtype=np.float32) for bound in (np.inf, -np.inf)
        )
        np.minimum.at(smallest, at[found], some.data[found].astype(np.float32))
        np.maximum.at(largest, at[found], some.data[found].astype(np.float32))
        shared = shared_values(smallest, largest)
        is_common = (np.bincount(at[found], minlength=len(first)) == len(some)) & (shared != 0)
        return first[is_common], shared[is_common]

    def crops(
        self, some: NDArray[np.int64], common: NDArray[Any], seed: int
    ) -> tuple[Self, NDArray[np.int64]]:
        """Return crops of at most 1,000 rows, with targets, and their rows' indices in ``some``.

        A crop is what a row would be if there were less of its text: the columns that the row
        shares with a random row, but not with a second one, are a few words with all of their
        n-grams. Random columns of a row would say more than words, since they are of different
        words. The columns ``common`` to all rows stay.
        """
        generator = np.random.default_rng(seed)
        chosen = np.sort(generator.permutation(len(some))[:_MOST_CROPS])
        if len(chosen) == 0:
            return self.select(chosen), chosen
        parts = [
            self.select(part)
            for part in (some[chosen], *generator.integers(len(self), size=(2, len(chosen))))
        ]
        shape = (len(chosen), 1 + max(int(part.indices.max(initial=0)) for part in parts))
        own, first, second = (
            csr_array((part.data, part.indices, part.indptr), shape=shape) for part in parts
        )
        first.data = np.ones_like(first.data)
        second.data = (~np.isin(second.indices, common)).astype(second.data.dtype)
        second.eliminate_zeros()
        shared = own.multiply(first).tocsr()
        crops = csr_array(shared - shared.multiply(second))
        crops.eliminate_zeros()
        crops.sort_indices()
        return type(self)(crops, parts[0].targets, parts[0].row_weights), chosen
