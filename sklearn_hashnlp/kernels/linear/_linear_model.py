"""A linear model over hash embeddings: a few arrays, and the scores of rows in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.embeddings._bags import BagLayout
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table


class LinearModel(NamedTuple):
    """The tables of hash embeddings, and the linear layer above the sum of the embeddings."""

    spec: TableSpec
    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``variant="standard"``
    weight: NDArray[np.float32]  # (n_classes, output_dim)
    bias: NDArray[np.float32]  # (n_classes,)
    prior: NDArray[np.float64] | None = None  # (n_classes,): see :class:`BagScorer`
    half: float = -1.0
    base: float = 0.0

    @classmethod
    def zeros(cls, spec: TableSpec, n_classes: int, importance_init: float = 0.0) -> Self:
        """Return a model with zero weights; its tables' memory is committed on first write."""
        importance = lazy_table(spec.importance_shape) if spec.has_importance else None
        if importance is not None and importance_init:
            importance[:] = importance_init
        weight = np.zeros((n_classes, spec.output_dim), dtype=np.float32)
        return cls(
            spec,
            lazy_table(spec.pool_shape),
            importance,
            weight,
            np.zeros(n_classes, dtype=np.float32),
        )

    @property
    def constants(self) -> NDArray[np.uint64]:
        """The constants of the hash functions, shape (k + 1, 3)."""
        return self.spec.constant_array

    @property
    def n_parameters(self) -> int:
        """The number of all weights."""
        return sum(
            array.size
            for array in (self.pool, self.importance, self.weight, self.bias)
            if array is not None
        )

    @property
    def known(self) -> NDArray[np.float32]:
        """The table by which a column is known: its row is not zero."""
        return self.pool if self.importance is None else self.importance

    def scorer(self) -> BagScorer:
        """Return the arrays that the compiled pass reads; the tables share memory."""
        return BagScorer(
            pool=self.pool,
            importance=self.importance,
            constants=self.constants,
            layout=self.spec.layout,
            weight=np.ascontiguousarray(self.weight.T, dtype=np.float64),
            bias=self.bias.astype(np.float64),
            prior=self.bias.astype(np.float64) if self.prior is None else self.prior,
            half=float(self.half),
            base=float(self.base),
        )


class BagScorer(NamedTuple):
    """The tables of a bag, and the linear layer above it, as the compiled pass reads them."""

    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``STANDARD``
    constants: NDArray[np.uint64]  # (k + 1, 3): of the hash functions
    layout: BagLayout
    weight: NDArray[np.float64]  # (output_dim, n_classes): of the layer, transposed
    bias: NDArray[np.float64]  # (n_classes,)
    # Scores s of a row of length e become g s + (1 - g) prior, g = e^3 / (e^3 + half^3), unless
    # half is negative.
    prior: NDArray[np.float64]  # (n_classes,)
    half: float
    base: float  # of the squares of lengths, what all training rows have

    def flat(self) -> tuple[Any, ...]:
        """Return the arguments of native functions."""
        pool, importance, constants, layout, *layer = self
        return (
            pool,
            np.empty((0, 1), np.float32) if importance is None else importance,
            constants,
            *layout,
            *layer,
        )


def score_bags(
    model: BagScorer,
    indices: NDArray[Any],  # (n_values,): columns of all documents, below 2**32
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    counts: NDArray[np.float32],  # (n_values,)
    documents: slice,
    # (n_documents, n_classes), or (0, n_classes) if they are not needed
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],  # (n_documents,)
    lengths: NDArray[np.float64],  # (n_documents,)
) -> bool:
    """Write scores, best labels and lengths of documents; return whether all scores are finite.

    The length of a document is the root of the sum of the squares of its weights, count times
    importance weight, of known columns, divided by the number of hashes, less ``base``.
    """
    rows = indices, np.ascontiguousarray(indptr, np.int64), counts, documents.start, documents.stop
    arguments: list[Any] = [*model.flat(), *rows, scores, labels, lengths]
    return bool(_native.score_bags(*arguments))


class RowFacts(NamedTuple):
    """The structure and the magnitudes of a CSR matrix of float32, see :func:`inspect_rows`."""

    # Whether offsets rise from 0 to at most the number of values, and columns are in range, sorted,
    # without twins.
    is_valid: bool
    smallest: float  # of all values; NaN if one is NaN
    largest: float


def inspect_rows(
    indices: NDArray[Any], indptr: NDArray[Any], data: NDArray[np.float32], n_columns: int
) -> RowFacts:
    """Check the structure of a CSR matrix; find the smallest and the largest magnitude in it."""
    dtype = np.int32 if indices.dtype == indptr.dtype == np.int32 else np.int64
    structure = np.ascontiguousarray(indices, dtype), np.ascontiguousarray(indptr, dtype)
    arguments: list[Any] = [*structure, np.ascontiguousarray(data), n_columns]
    return RowFacts(*_native.inspect_rows(*arguments))
