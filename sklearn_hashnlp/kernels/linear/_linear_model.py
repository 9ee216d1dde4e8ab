"""A linear model over hash embeddings: a few arrays."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.embeddings._lazy_table import lazy_table
from sklearn_hashnlp.kernels.embeddings._table_spec import TableSpec
from sklearn_hashnlp.kernels.linear._score_bags import BagScorer


class LinearModel(NamedTuple):
    """The tables of hash embeddings, and the linear layer above the sum of the embeddings."""

    spec: TableSpec
    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``variant="standard"``
    weight: NDArray[np.float32]  # (n_classes, output_dim)
    bias: NDArray[np.float32]  # (n_classes,)

    @classmethod
    def zeros(cls, spec: TableSpec, n_classes: int, importance_init: float = 0.0) -> Self:
        """Return a model whose weights are zero; the memory of its tables is committed where they are written."""
        importance = lazy_table(spec.importance_shape) if spec.has_importance else None
        if importance is not None and importance_init:
            importance[:] = importance_init
        weight = np.zeros((n_classes, spec.output_dim), dtype=np.float32)
        return cls(spec, lazy_table(spec.pool_shape), importance, weight, np.zeros(n_classes, dtype=np.float32))

    @property
    def constants(self) -> NDArray[np.uint64]:
        """The constants of the hash functions, shape (k + 1, 3)."""
        return np.array(self.spec.constants, dtype=np.uint64)

    @property
    def n_parameters(self) -> int:
        """The number of all weights."""
        return sum(array.size for array in (self.pool, self.importance, self.weight, self.bias) if array is not None)

    @property
    def known(self) -> NDArray[np.float32]:
        """The table by which a column is known: its row is not zero."""
        return self.pool if self.importance is None else self.importance

    def scorer(self) -> BagScorer:
        """Return what the compiled pass reads; the tables share memory."""
        return BagScorer(
            pool=self.pool,
            importance=self.importance,
            constants=self.constants,
            layout=self.spec.layout,
            weight=np.ascontiguousarray(self.weight.T, dtype=np.float64),
            bias=self.bias.astype(np.float64),
        )
