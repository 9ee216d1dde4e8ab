"""Hashed direct connections of a hierarchical softmax: features that add to scores without a hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels._rows import group_rows
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, slot_of
from sklearn_hashnlp.kernels.trees._paths import PathNodes

NODE_STEP = 0x9E3779B1  # odd, near 2**32 over the golden ratio: neighboring nodes have distant keys
_STEP = np.uint64(NODE_STEP)


@compiled
def locate_features(
    features: NDArray[np.int64],  # (rows, n_features): the low 32 bits count; a negative one is absent
    path_nodes: PathNodes,
    constants: NDArray[np.uint64],  # (2,): of the hash function
    n_slots: int,
) -> NDArray[np.int32]:  # (n_pairs, n_features), -1 for an absent feature
    """Hash each feature of a row to a slot at each node on its path."""
    # Feature x at node i has the key fmix32(x) + i * NODE_STEP modulo 2**32, hashed to a slot of the table; score j of
    # the node adds the entry (slot + j) mod n_slots.
    nodes, starts, rows = path_nodes.nodes, path_nodes.starts, path_nodes.rows
    a, b, size = constants[0], constants[1], np.uint64(n_slots)
    slots = np.empty((len(rows), features.shape[1]), dtype=np.int32)
    for group in range(len(nodes)):
        step = np.uint64(nodes[group]) * _STEP
        for at in range(starts[group], starts[group + 1]):
            for j in range(features.shape[1]):
                feature = features[rows[at], j]
                slot = slot_of(mix_id(mix_id(feature) + step), a, b, size)
                slots[at, j] = slot if feature >= 0 else -1
    return slots


@compiled
def add_direct(
    direct: NDArray[Any],  # (n_slots,)
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    path_nodes: PathNodes,
    scores: NDArray[Any],  # (n,)
) -> None:
    """Add to each score the entries of its row's features."""
    starts, score_starts = path_nodes.starts, path_nodes.score_starts
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


@compiled
def direct_gradients(
    slots: NDArray[np.int32],  # (n_pairs, n_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_slots: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the entries of the table that have a gradient, ascending, and their gradients."""
    starts, score_starts = path_nodes.starts, path_nodes.score_starts
    max_entries = len(d_scores) * slots.shape[1]
    entries, owners = in_huge_pages(np.empty(max_entries, np.int32)), in_huge_pages(np.empty(max_entries, np.int64))
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
    order, entry_starts, distinct = group_rows(entries[:n_entries], n_slots)
    sums = np.empty(len(distinct), dtype=d_scores.dtype)
    for entry in range(len(distinct)):
        total = d_scores.dtype.type(0)
        for at in range(entry_starts[entry], entry_starts[entry + 1]):
            total += d_scores[owners[order[at]]]
        sums[entry] = total
    return distinct, sums
