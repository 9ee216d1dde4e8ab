"""Hash embeddings by the paper's formula, one id and one number at a time."""

import math
import statistics

import torch

from tests.oracles.hashing import hash_constants

from .hashing import hash_slot


def rows_of(key: int, tables) -> tuple[int, list[int]]:
    """Return the row of an id in the first table, and its rows in the pool."""
    first, *others = hash_constants(tables.seed, tables.num_hashes + 1)
    row = hash_slot(key, first, tables.num_embeddings) if tables.hash_rows else key
    key = row if tables.variant == "paper" else key
    return row, [hash_slot(key, constants, tables.num_buckets) for constants in others]


def embed(key: int, tables) -> list[float]:
    """Return e_w of one id."""
    row, slots = rows_of(key, tables)
    pool = tables.pool.tolist()
    if tables.variant == "standard":
        return pool[row]
    weights = tables.importance.tolist()[row]
    parts = [
        [weight * value for value in pool[slot]]
        for weight, slot in zip(weights, slots, strict=True)
    ]
    if tables.aggregation == "concat":
        vector = [value for part in parts for value in part]
    else:
        combine = {"sum": sum, "median": statistics.median}[tables.aggregation]
        vector = [combine(column) for column in zip(*parts, strict=True)]
    return vector + weights if tables.append_weight else vector


def embed_document(keys: list[int], counts: list[float], bag) -> torch.Tensor:
    """Return the vector of a document: the sum over its ids, divided by its norm."""
    total, norm = torch.zeros(bag.output_dim, dtype=torch.float64), 0.0
    for key, count in zip(keys, counts, strict=True):
        total += count * torch.tensor(embed(key, bag), dtype=torch.float64)
        importance = (
            [1.0] if bag.importance is None else bag.importance.tolist()[rows_of(key, bag)[0]]
        )
        sizes = [abs(count * weight) for weight in importance]
        norm += sum(size if bag.normalize == "l1" else size * size for size in sizes) / len(sizes)
    if bag.normalize is not None and norm > 0:
        total /= norm if bag.normalize == "l1" else math.sqrt(norm)
    return total
