"""Hashed direct connections of a hierarchical softmax: features without a hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.trees._paths import PathNodes

NODE_STEP = 0x9E3779B1  # odd, near 2**32 over the golden ratio: neighboring nodes have distant keys


def locate_features(
    # (rows, n_features): the low 32 bits count; a negative one is absent
    features: NDArray[np.int64],
    path_nodes: PathNodes,
    constants: NDArray[np.uint64],  # (2,): of the hash function
    n_slots: int,
) -> NDArray[np.int32]:  # (n_pairs, n_features), -1 for an absent feature
    """Hash each feature of a row to a slot at each node on its path."""
    # Feature x at node i has the key fmix32(x) + i * NODE_STEP modulo 2**32, hashed to a slot of
    # the table; score j of the node adds the entry (slot + j) mod n_slots.
    slots = np.empty((len(path_nodes.rows), features.shape[1]), dtype=np.int32)
    _native.locate_features(features, path_nodes, constants, n_slots, slots)
    return slots


def add_direct(
    direct: NDArray[Any],  # (n_slots,)
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    path_nodes: PathNodes,
    scores: NDArray[Any],  # (n,)
) -> None:
    """Add to each score the entries of its row's features."""
    _native.add_direct(direct, slots, path_nodes, scores)


def direct_gradients(
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_slots: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the entries of the table that have a gradient, ascending, and their gradients."""
    return _native.direct_gradients(slots, d_scores, path_nodes, n_slots)
