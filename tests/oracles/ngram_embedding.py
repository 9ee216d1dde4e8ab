"""Hashed n-grams of token ids by their descriptions, one n-gram and one number at a time."""

import torch

from tests.oracles.hashing import hash_constants, splitmix64

from .hashing import hash_slot


def histories(ids: list[int], starts: list[bool], spec) -> list[list[int]]:
    """Return the tokens that the n-grams of each token may contain, the oldest first."""
    results = []
    for last in range(len(ids)):
        history = []
        for t in range(last, -1, -1):
            if ids[t] == spec.padding_idx:
                break
            history.insert(0, ids[t])
            if starts[t] or ids[t] == spec.boundary:
                break
        results.append(history)
    return results


def key_of(ngram: list[int]) -> int:
    """Mix the tokens of an n-gram, the last one first, to 64 bits."""
    key = ngram[-1]
    for token in reversed(ngram[:-1]):
        key = (splitmix64(key, 1)[0] + token) % 2**64
    return key


def published_row(ngram: list[int], spec, size: int) -> int:
    """Return the row of an n-gram by a published formula."""
    by_distance = list(reversed(ngram))
    if spec.scheme == "polynomial":
        return sum(token * spec.base**distance for distance, token in enumerate(by_distance)) % size
    value = 0
    multipliers = [number // 2**32 | 1 for number in splitmix64(spec.seed, spec.max_order)]
    for token, multiplier in zip(by_distance, multipliers, strict=False):
        value ^= token * multiplier % 2**64
    signed = value - 2**64 if value >= 2**63 else value  # of two's complement
    return signed % size


def rows_of(ngram: list[int], table: int, spec) -> tuple[list[int], int, int]:
    """Return the rows of an n-gram in a table, its row of importance weights, and its sign."""
    start, size = sum(spec.sizes[:table]), spec.sizes[table]
    if spec.scheme != "multiply_shift":
        row = start + published_row(ngram, spec, size)
        return [row], row, 1
    n_functions = spec.num_hashes + 2
    constants = hash_constants(spec.seed, spec.n_tables * n_functions)[table * n_functions :]
    key = key_of(ngram)
    rows = [start + hash_slot(key, constants[i], size) for i in range(spec.num_hashes)]
    sign = -1 if spec.signs and hash_slot(key, constants[spec.num_hashes + 1], 2) else 1
    return rows, start + hash_slot(key, constants[spec.num_hashes], size), sign


def embed(ids: list[int], starts: list[bool], layer) -> torch.Tensor:
    """Return the vector of each token of one sequence, before any projection."""
    spec, weight = layer.spec, layer.weight.detach().double()
    vectors = []
    for history in histories(ids, starts, spec):
        parts = []
        for table in range(spec.n_tables):
            order, part = (
                spec.orders[table // spec.num_heads],
                torch.zeros(layer.n_columns, dtype=torch.float64),
            )
            if len(history) >= order:
                rows, importance_row, sign = rows_of(history[-order:], table, spec)
                for i, row in enumerate(rows):
                    factor = (
                        1.0
                        if layer.importance is None
                        else float(layer.importance[importance_row, i].detach())
                    )
                    part += sign * factor * weight[row]
            parts.append(part)
        vectors.append(
            torch.cat(parts) if layer.mode == "concat" else torch.stack(parts).sum(dim=0)
        )
    return torch.stack(vectors)
