"""Sums of hash embeddings from arrays, one id at a time."""

from itertools import pairwise

import numpy as np

from sklearn_hashnlp.kernels.embeddings._bags import L1_BAG_NORM, L2_BAG_NORM, NO_BAG_NORM
from sklearn_hashnlp.kernels.embeddings._hash_ids import PAPER, STANDARD
from tests.oracles.hashing import hash_constants

from .hashing import hash_slots


def locate_ids(ids, variant: int, n_hashes: int, n_rows: int, n_slots: int, seed: int = 0):
    """Return the rows of both tables of each id, by the hash functions with Python's integers."""
    of_rows, *of_slots = hash_constants(seed, n_hashes + 1)
    rows = hash_slots(ids, of_rows, n_rows)
    if variant == STANDARD:
        return rows, rows[:, None]
    keys = rows if variant == PAPER else ids
    return rows, np.stack([hash_slots(keys, pair, n_slots) for pair in of_slots], axis=1)


def embed_bags(rows, slots, offsets, counts, pool, importance, layout):
    """Return each document's vector: the weighted sum of its pool rows, divided by its norm."""
    width = pool.shape[1]
    k = slots.shape[1]
    documents = []
    for first, last in pairwise(offsets):
        parts = np.zeros((k, width))
        appended = np.zeros(k)
        norm = 0.0
        for j in range(first, last):
            for i in range(k):
                weight = counts[j] * (1.0 if importance is None else importance[rows[j], i])
                parts[i] += weight * pool[slots[j, i]]
                appended[i] += weight
                norm += (abs(weight) if layout.norm == L1_BAG_NORM else weight**2) / k
        vector = parts.reshape(-1) if layout.concat else parts.sum(axis=0)
        if layout.append_weight and importance is not None:
            vector = np.concatenate([vector, appended])
        if layout.norm == L2_BAG_NORM:
            norm = np.sqrt(norm)
        documents.append(vector / norm if layout.norm != NO_BAG_NORM and norm else vector)
    return np.array(documents)


def squared_lengths(rows, slots, offsets, counts, pool, importance, layout):
    """Return the sum of the squared weights of the known values of each document, divided by the
    number of hashes.
    """
    squares = []
    for first, last in pairwise(offsets):
        total = 0.0
        for j in range(first, last):
            for i, slot in enumerate(slots[j].tolist()):
                weight = float(counts[j]) * (
                    1.0 if importance is None else float(importance[rows[j], i])
                )
                # whatever its row of the pool
                is_read = layout.append_weight and importance is not None
                total += weight**2 if is_read or any(pool[slot, :4]) else 0.0
        squares.append(total / slots.shape[1])
    return np.array(squares)
