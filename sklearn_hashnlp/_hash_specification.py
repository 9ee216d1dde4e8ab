"""The version and the constants of the hash functions of hash embeddings, in plain Python."""

from __future__ import annotations

HASH_SPECIFICATION = 2
"""Increased by one whenever the slot of any key changes: loading an older model fails instead of
misreading it."""

GAMMA = 0x9E3779B97F4A7C15  # the increment of SplitMix64's state: 2**64 over the golden ratio
MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of its output function

_MAX_FUNCTIONS = 2**16  # far more than are of use; a damaged model may ask for any number
# values of a seed that precede the multipliers of high halves: more than all functions need
_FIRST_HIGH = 2**32


def splitmix64(seed: int, n_values: int) -> list[int]:
    """Return the first 64-bit integers of SplitMix64 for a seed."""
    # Steele, Lea & Flood (2014). Fast splittable pseudorandom number generators. OOPSLA, figure 17.
    mask = 2**64 - 1
    values = []
    for step in range(1, n_values + 1):
        z = (seed + step * GAMMA) & mask
        z = ((z ^ (z >> 30)) * MULTIPLIERS[0]) & mask
        z = ((z ^ (z >> 27)) * MULTIPLIERS[1]) & mask
        values.append(z ^ (z >> 31))
    return values


def hash_constants(seed: int, n_functions: int) -> tuple[tuple[int, int, int], ...]:
    """Draw the two multipliers (of low and high halves) and the addend of each hash function."""
    if n_functions > _MAX_FUNCTIONS:
        raise ValueError(f"There are at most {_MAX_FUNCTIONS} hash functions, got {n_functions}.")
    values = splitmix64(seed, 2 * n_functions)
    high = splitmix64(seed + _FIRST_HIGH * GAMMA, n_functions)
    return tuple(zip(values[::2], values[1::2], high, strict=True))
