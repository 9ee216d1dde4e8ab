"""SplitMix64, the generator that turns one seed into the keys of hash functions."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp.kernels._compile import Number, inlined

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""What the generator's state grows by at each step."""

_WORD = 2**64 - 1


@inlined
def mix_word(word: Number) -> Number:
    """Mix the bits of a 64-bit word, inside a kernel: the output function of SplitMix64. No two words become one."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def splitmix64(seed: int, n_values: int) -> list[int]:
    """Draw 64-bit integers from the published generator SplitMix64."""
    values = []
    for step in range(1, n_values + 1):
        z = (seed + step * 0x9E3779B97F4A7C15) & _WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        values.append(z ^ (z >> 31))
    return values
