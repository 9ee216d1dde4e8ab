"""Hashed direct connections of a hierarchical softmax: features that add to scores without a hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._rows import group_rows
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, slot_of
from sklearn_hashnlp.kernels.trees._paths import PathNodes

NODE_STEP = 0x9E3779B1  # odd, near 2**32 over the golden ratio: neighboring nodes have distant keys
_STEP = np.uint64(NODE_STEP)


def locate_features(
    features: NDArray[np.int64],  # (rows, n_features): the low 32 bits count; a negative one is absent
    path_nodes: PathNodes,
    constants: tuple[int, int],
    n_slots: int,
) -> NDArray[np.int32]:  # (n_pairs, n_features), -1 for an absent feature
    """Hash each feature of a row to a slot at each node on its path."""
    # Feature x at node i has the key fmix32(x) + i * NODE_STEP modulo 2**32, hashed to a slot of the table; score j of
    # the node adds the entry (slot + j) mod n_slots.
    slots = np.empty((len(path_nodes.rows), features.shape[1]), dtype=np.int32)
    a, b, size = (np.uint64(number) for number in (*constants, n_slots))
    _locate(features, path_nodes.nodes, path_nodes.starts, path_nodes.rows, a, b, size, slots)
    return slots


@compiled
def _locate(
    features: NDArray[np.int64],
    nodes: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    a: Number,
    b: Number,
    n_slots: Number,
    slots: NDArray[np.int32],
) -> None:
    for group in range(len(nodes)):
        step = np.uint64(nodes[group]) * _STEP
        for at in range(starts[group], starts[group + 1]):
            for j in range(features.shape[1]):
                feature = features[rows[at], j]
                slot = slot_of(mix_id(mix_id(feature) + step), a, b, n_slots)
                slots[at, j] = slot if feature >= 0 else -1


@compiled
def add_direct(
    direct: NDArray[Any],  # (n_slots,)
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    starts: NDArray[np.int64],  # (n_groups + 1,)
    score_starts: NDArray[np.int64],  # (n_groups + 1,)
    scores: NDArray[Any],  # (n,)
) -> None:
    """Add to each score the entries of its row's features."""
    for group in range(len(starts) - 1):
        score_start = score_starts[group]
        arity = (score_starts[group + 1] - score_start) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            for feature in range(slots.shape[1]):
                slot = slots[at, feature]
                if slot < 0:
                    continue
                before_end = min(arity, len(direct) - slot)
                for j in range(before_end):
                    scores[score_start + j] += direct[slot + j]
                for j in range(before_end, arity):  # wraps around
                    scores[score_start + j] += direct[(slot + j) % len(direct)]
            score_start += arity


def direct_gradients(
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_slots: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the entries of the table that have a gradient, ascending, and their gradients."""
    max_entries = len(d_scores) * slots.shape[1]
    entries, owners = np.empty(max_entries, dtype=np.int32), np.empty(max_entries, dtype=np.int64)
    n_entries = _list_entries(slots, path_nodes.starts, path_nodes.score_starts, n_slots, entries, owners)
    order, starts, distinct = group_rows(entries[:n_entries], n_slots)
    sums = np.empty(len(distinct), dtype=d_scores.dtype)
    _sum_entries(order, starts, owners, d_scores, sums)
    return distinct, sums


@compiled
def _list_entries(
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    score_starts: NDArray[np.int64],
    n_slots: Number,
    entries: NDArray[np.int32],
    owners: NDArray[np.int64],
) -> int:
    n_entries = 0
    for group in range(len(starts) - 1):
        score_start = score_starts[group]
        arity = (score_starts[group + 1] - score_start) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            for feature in range(slots.shape[1]):
                slot = slots[at, feature]
                if slot < 0:
                    continue
                for j in range(arity):
                    entries[n_entries] = (slot + j) % n_slots
                    owners[n_entries] = score_start + j
                    n_entries += 1
            score_start += arity
    return n_entries


@compiled
def _sum_entries(
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    d_scores: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for group in range(len(starts) - 1):
        total = d_scores.dtype.type(0)
        for at in range(starts[group], starts[group + 1]):
            total += d_scores[owners[order[at]]]
        sums[group] = total
