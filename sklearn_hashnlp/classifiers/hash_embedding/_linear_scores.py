"""Scores of nets without hidden layers on the CPU: one compiled pass over sparse rows, without torch."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor, nn

from sklearn_hashnlp._posix import usable_cores
from sklearn_hashnlp._threads import map_blocks
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import LARGE, MAX_COLUMNS, SMALL, SparseDataset
from sklearn_hashnlp.kernels.embeddings._hash_ids import STANDARD
from sklearn_hashnlp.kernels.linear._score_bags import LinearModel, inspect_rows, score_bags
from sklearn_hashnlp.nn._autograd import kernels_apply
from sklearn_hashnlp.nn._hash_embedding_network import HashEmbeddingNetwork, ScoreHead

_MIN_VALUES = 2**15  # of a thread: fewer take less time than its start
_MAX_BLOCK_ROWS = 1024  # of a thread at once


def linear_model(module: nn.Module) -> LinearModel | None:
    """Return the arrays of a network, which share its memory, or None if kernels cannot compute its scores."""
    if type(module) is not HashEmbeddingNetwork:
        return None
    bag, head = module.bag, module.head
    layout = bag.layout
    if type(head) is not ScoreHead or len(head) != 1 or (bag.aggregation == "median" and layout.variant != STANDARD):
        return None
    layer: Any = head[0]
    tensors: list[Tensor] = [bag.pool, layer.weight, layer.bias, *([] if bag.importance is None else [bag.importance])]
    if (
        type(layer) is not nn.Linear
        or not all(_is_readable(tensor) for tensor in tensors)
        or _has_hooks(module, bag, head, layer)
    ):
        return None
    return LinearModel(
        pool=_as_array(bag.pool),
        importance=None if bag.importance is None else _as_array(bag.importance),
        constants=np.array(bag._constants, dtype=np.uint64),
        layout=layout,
        weight=np.ascontiguousarray(_as_array(layer.weight).T, dtype=np.float64),
        bias=_as_array(layer.bias).astype(np.float64),
    )


def _is_readable(tensor: Tensor) -> bool:
    return kernels_apply(tensor) and tensor.dtype.itemsize == 4 and tensor.is_contiguous()


def _has_hooks(*modules: nn.Module) -> bool:
    return any(module._forward_hooks or module._forward_pre_hooks for module in modules)


def _as_array(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().numpy()
    return array


def score_rows(
    model: LinearModel, rows: SparseDataset, *, with_scores: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.int64], bool]:
    """Return the scores of rows (none without ``with_scores``), the index of the largest, and whether all are finite.

    The scores are those of torch's modules to the last bit: float32 sums in the same order, then the layer in float64,
    rounded to float32.
    """
    n_rows, n_classes = len(rows.indptr) - 1, len(model.bias)
    scores = np.empty((n_rows if with_scores else 0, n_classes))
    labels = np.empty(n_rows, dtype=np.int64)
    data = rows.data.astype(np.float32, copy=False)
    arrays = (rows.indices, rows.indptr, data)
    work = partial(score_bags, model, *arrays, scores=scores, labels=labels)
    n_threads = 1 if len(data) < 2 * _MIN_VALUES else min(_n_processors(), len(data) // _MIN_VALUES)
    if n_threads == 1:
        return scores, labels, work(slice(0, n_rows))
    finite: list[bool] = []
    map_blocks(lambda block: finite.append(work(block)), n_rows, n_threads, max_rows=_MAX_BLOCK_ROWS)
    return scores, labels, all(finite)


def _n_processors() -> int:
    """Return the number of processors that this thread may use."""
    return min(_n_processors_of_process(), usable_cores())


@cache
def _n_processors_of_process() -> int:
    return int(cpu_count())  # which takes time: it reads the limits of containers


def plain_rows(X: Any, n_columns: int) -> SparseDataset | None:
    """Return the rows of a matrix that needs neither checks nor conversions; None of any other, for the full checks.

    These are CSR matrices of float32 and of the right shape, with sorted columns and without zeros or extreme values,
    such as the counts of a vectorizer.
    """
    if not issparse(X) or X.format != "csr" or X.dtype != np.float32 or X.ndim != 2:
        return None
    if X.shape[1] != n_columns or n_columns > MAX_COLUMNS:
        return None
    facts = inspect_rows(X.indices, X.indptr, X.data, n_columns)
    return SparseDataset(X) if facts.is_valid and facts.smallest >= SMALL and facts.largest <= LARGE else None
