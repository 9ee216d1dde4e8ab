"""Search in a hierarchical softmax from the root: most probable, greedy and sampled classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


class TreeScorer(NamedTuple):
    """A tree as the kernels read it from the root down, and the parameters of its nodes."""

    children: NDArray[np.int64]  # (n_edges,): inner nodes, and classes as ``~class``
    offsets: NDArray[np.int64]  # (n_nodes + 1,): start of each node's children
    first_rows: NDArray[np.int64]  # (n_nodes + 1,): start of each node's weight rows
    weight: NDArray[Any]  # (n_scores, in_features)
    bias: NDArray[Any]  # (n_scores,)
    direct: NDArray[Any]  # (n_direct,): hashed direct connections; empty without them
    constants: NDArray[np.uint64]  # (2,): of the hash function
    max_scores: int  # the most scores of a node


def search_best(
    inputs: NDArray[Any],  # (rows, in_features)
    features: NDArray[np.int64],  # (rows, n_features)
    scorer: TreeScorer,
    # (rows, k), or (rows, k + 1): filled, descending; the last is a bound for other classes
    log_probs: NDArray[Any],
    classes: NDArray[np.int64],  # (rows, k): filled
) -> None:
    """Find the k most probable classes of each row by best-first search."""
    _native.search_best(inputs, features, scorer, log_probs, classes)


def descend(
    inputs: NDArray[Any],  # (rows, in_features)
    features: NDArray[np.int64],  # (rows, n_features)
    scorer: TreeScorer,
    # (rows,): uniform in [0, 1), or (0,) for the most probable branch, the first at a tie
    draws: NDArray[np.float64],
    classes: NDArray[np.int64],  # (rows,): filled
) -> None:
    """Descend from the root to one class for each row."""
    _native.descend(inputs, features, scorer, draws, classes)
