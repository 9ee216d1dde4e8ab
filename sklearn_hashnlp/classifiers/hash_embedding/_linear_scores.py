"""Scores of linear models: one compiled pass over sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_hashnlp._posix import usable_cores
from sklearn_hashnlp._threads import is_worker, map_blocks
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import LARGE, MAX_COLUMNS, SMALL, SparseRows
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel, inspect_rows, score_bags

DIVERGENCE = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate, and scale "
    "X down if its rows are not normalized."
)
_MIN_VALUES = 2**15  # per thread: fewer take less time than starting it
_MAX_BLOCK_ROWS = 1024  # per thread at once


class ScoredRows(NamedTuple):
    """The scores and labels of rows."""

    scores: NDArray[np.float64]  # (n_rows, n_classes), or (0, n_classes)
    labels: NDArray[np.int64]  # (n_rows,): index of the largest score
    finite: bool  # whether all scores are
    lengths: NDArray[np.float64]  # (n_rows,): see :func:`score_bags`


def score_rows(model: LinearModel, rows: SparseRows, *, with_scores: bool = True) -> ScoredRows:
    """Score rows, bit for bit as torch's modules."""
    n_rows, n_classes = len(rows.indptr) - 1, len(model.bias)
    scores = np.empty((n_rows if with_scores else 0, n_classes))
    labels, lengths = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    data = rows.data.astype(np.float32, copy=False)
    scorer, finite = model.scorer(), []

    def score(block: slice) -> None:
        finite.append(score_bags(scorer, rows.indices, rows.indptr, data, block, scores, labels, lengths))

    map_row_blocks(score, n_rows, len(data))
    return ScoredRows(scores, labels, all(finite), lengths)


def document_vectors(model: LinearModel, rows: SparseRows) -> NDArray[np.float32]:
    """Return the vectors of rows that the linear layer reads, shape (n_rows, output_dim)."""
    width = model.spec.output_dim  # the scores of a layer that returns its input
    nothing = np.zeros(width, dtype=np.float32)
    identity = model._replace(weight=np.eye(width, dtype=np.float32), bias=nothing)
    return score_rows(identity, rows).scores.astype(np.float32)


def map_row_blocks(work: Callable[[slice], None], n_rows: int, n_values: int) -> None:
    """Call a function for blocks of rows, on all processors if there are enough values."""
    is_small = n_values < 2 * _MIN_VALUES or is_worker()
    n_threads = 1 if is_small else min(_n_processors(), n_values // _MIN_VALUES)
    if n_threads == 1:
        work(slice(0, n_rows))
    else:
        map_blocks(work, n_rows, n_threads, max_rows=_MAX_BLOCK_ROWS)


def _n_processors() -> int:
    return min(_n_processors_of_process(), usable_cores())


@cache
def _n_processors_of_process() -> int:
    return int(cpu_count())  # slow: it reads the limits of containers


def plain_rows(X: Any, n_columns: int) -> SparseRows | None:
    """Return rows of a matrix that needs neither checks nor conversion, such as counts of a vectorizer; else None."""
    if not issparse(X) or X.format != "csr" or X.dtype != np.float32 or X.ndim != 2:
        return None
    if X.shape[1] != n_columns or n_columns > MAX_COLUMNS:
        return None
    facts = inspect_rows(X.indices, X.indptr, X.data, n_columns)
    return SparseRows(X) if facts.is_valid and facts.smallest >= SMALL and facts.largest <= LARGE else None
