"""Hashed direct connections: features of a row that add to the scores of a tree's nodes without a hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hash_ids import mix_id, slot_of
from sklearn_hashnlp.kernels._rows import group_rows
from sklearn_hashnlp.kernels._tree_forward import Visits

NODE_STEP = 0x9E3779B1  # an odd number near 2**32 over the golden ratio: neighbouring nodes get keys far apart
_STEP = np.uint64(NODE_STEP)


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


def locate_features(
    features: NDArray[np.int64],  # (rows, n_features)
    visits: Visits,
    constants: tuple[int, int],
    n_slots: int,
) -> NDArray[np.int32]:  # (n_visits, n_features)
    """Find where in the table each feature of a row begins at each node that the row visits."""
    slots = np.empty((len(visits.rows), features.shape[1]), dtype=np.int32)
    a, b, size = (np.uint64(number) for number in (*constants, n_slots))
    _locate(features, visits.nodes, visits.starts, visits.rows, a, b, size, slots)
    return slots


@compiled
def add_direct(
    direct: NDArray[Any],  # (n_slots,)
    slots: NDArray[np.int32],  # (n_visits, n_features)
    starts: NDArray[np.int64],  # (n_groups + 1,)
    places: NDArray[np.int64],  # (n_groups + 1,)
    scores: NDArray[Any],  # (n,)
) -> None:
    """Add to each score what the features of its row say."""
    for group in range(len(starts) - 1):
        place = places[group]
        arity = (places[group + 1] - place) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            for feature in range(slots.shape[1]):
                slot = slots[at, feature]
                if slot < 0:
                    continue
                before_end = min(arity, len(direct) - slot)
                for j in range(before_end):
                    scores[place + j] += direct[slot + j]
                for j in range(before_end, arity):  # round to the beginning
                    scores[place + j] += direct[(slot + j) % len(direct)]
            place += arity


@compiled
def _list_entries(
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    n_slots: Number,
    entries: NDArray[np.int32],
    owners: NDArray[np.int64],
) -> int:
    n_entries = 0
    for group in range(len(starts) - 1):
        place = places[group]
        arity = (places[group + 1] - place) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            for feature in range(slots.shape[1]):
                slot = slots[at, feature]
                if slot < 0:
                    continue
                for j in range(arity):
                    entries[n_entries] = (slot + j) % n_slots
                    owners[n_entries] = place + j
                    n_entries += 1
            place += arity
    return n_entries


@compiled
def _sum_groups(
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    owners: NDArray[np.int64],
    changes: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for group in range(len(starts) - 1):
        total = changes.dtype.type(0)
        for at in range(starts[group], starts[group + 1]):
            total += changes[owners[order[at]]]
        sums[group] = total


def direct_gradients(
    slots: NDArray[np.int32],  # (n_visits, n_features)
    changes: NDArray[Any],  # (n,)
    visits: Visits,
    n_slots: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Differentiate with respect to the table."""
    most = len(changes) * slots.shape[1]
    entries, owners = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    n_entries = _list_entries(slots, visits.starts, visits.places, n_slots, entries, owners)
    order, starts, distinct = group_rows(entries[:n_entries], n_slots)
    sums = np.empty(len(distinct), dtype=changes.dtype)
    _sum_groups(order, starts, owners, changes, sums)
    return distinct, sums
