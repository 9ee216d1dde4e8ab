"""Hash functions with Python's integers, which never overflow."""

import numpy as np


def fmix32(key: int) -> int:
    """Return the finalizer of MurmurHash3 of the low 32 bits of a key."""
    key %= 2**32
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        key = (key ^ (key >> shift)) * factor % 2**32
    return key


def splitmix64(seed: int, n_values: int) -> list[int]:
    """Return the first 64-bit integers of SplitMix64 (Steele, Lea and Flood, 2014, figure 17)."""
    values = []
    for step in range(1, n_values + 1):
        z = (seed + step * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        values.append(z ^ (z >> 31))
    return values


def hash_constants(seed: int, n_functions: int) -> list[tuple[int, int, int]]:
    """Return (a, b, c) of each hash function: a and b alternate, c is drawn from 2**32 steps later
    on.
    """
    low = splitmix64(seed, 2 * n_functions)
    high = splitmix64(seed + 2**32 * 0x9E3779B97F4A7C15, n_functions)
    return list(zip(low[::2], low[1::2], high, strict=True))


def hash_slot(key: int, constants: tuple[int, int, int], size: int) -> int:
    """Return the slot of an id in a table: mix both halves, multiply, add, shift and reduce."""
    a, b, c = constants
    low, high = key % 2**32, key // 2**32 % 2**32
    return (a * fmix32(low ^ fmix32(high)) + b + c * fmix32(high)) % 2**64 // 2**32 * size // 2**32


def hash_slots(keys, constants: tuple[int, int, int], size: int):
    """Return the slots of an array of ids."""
    return np.array([hash_slot(int(key), constants, size) for key in keys], dtype=np.int64)


def feature_slot(feature: int, node: int, constants: tuple[int, int], size: int) -> int:
    """Return the slot of a feature at a node of a tree in the table of direct connections."""
    a, b = constants
    return (
        (a * fmix32(fmix32(feature) + int(node) * 0x9E3779B1) + b) % 2**64 // 2**32 * size // 2**32
    )


def history_hashes(history: list[int], padding_id: int | None) -> list[int]:
    """Hash the last word, the last two words, and so on; -1 where the longer history only adds
    padding.
    """
    hashes, running = [], 0
    for length in range(1, len(history) + 1):
        running = fmix32(running * 0x9E3779B1 + history[-length] + 1)
        known = history[-length:]
        only_adds_padding = (
            padding_id is not None and length > 1 and known[0] == known[1] == padding_id
        )
        hashes.append(-1 if only_adds_padding else running)
    return hashes
