"""The coefficients of random hyperplanes, computed from the number of a column and never stored."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._hashes import splitmix64

#: Raised by one whenever any coefficient or tie bit changes, so that a stored model can tell.
PROJECTION_SPECIFICATION = 1

NORMAL, SIGN, GOOGLE = 0, 1, 2
KINDS = {"normal": NORMAL, "sign": SIGN, "google": GOOGLE}

#: Hyperplanes are made in groups of so many: what one 32-bit word gives as signs, and eight words as bytes.
GROUP = 32
#: The Mersenne prime of Google's projection.
PRIME = 2**31 - 1
TIE_COLUMN = -1
"""No column has this number; its signs decide about sums of zero."""

# The mean of a standard normal number within each of the 128 upper ones of 256 equally likely bins, times
# 127 / 2.96910168 and rounded to the nearest integer but 0. (Means of bins come nearer to the normal law than
# their middles: the kurtosis is 2.96 and not 2.92.)
# fmt: off
_UPPER_QUANTILES = (
    1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11, 12, 12, 13, 13, 13,
    14, 14, 15, 15, 16, 16, 17, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27,
    28, 28, 29, 29, 30, 30, 31, 31, 32, 32, 33, 33, 34, 35, 35, 36, 36, 37, 38, 38, 39, 40, 40, 41, 41, 42, 43, 44, 44,
    45, 46, 46, 47, 48, 49, 50, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 64, 65, 66, 68, 69, 71, 73, 74, 76,
    79, 81, 84, 87, 90, 94, 100, 108, 127,
)
# fmt: on
#: What each of the 256 values of a byte means as a coefficient: ascending, as many below zero as above.
QUANTILES = np.array([-value for value in reversed(_UPPER_QUANTILES)] + list(_UPPER_QUANTILES), dtype=np.int8)

# What eight bits mean as eight signs, and two bytes as two coefficients, side by side in the order of the hyperplanes:
# one look takes the place of eight, or two.
_SIGNS = (2 * ((np.arange(256)[:, np.newaxis] >> np.arange(8)) & 1) - 1).astype(np.int8).view("<u8").ravel()
_PAIRS = np.stack([np.tile(QUANTILES, 256), np.repeat(QUANTILES, 256)], axis=1).view("<u2").ravel()

_FIRST, _SECOND = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)  # the multipliers of fmix32


class Hyperplanes(NamedTuple):
    """What a seed and a number of hyperplanes come to: all that the kernels need."""

    kind: int  # nORMAL, SIGN or GOOGLE
    n: int  # number of hyperplanes
    keys: NDArray[np.uint32]  # (4,): a and b, and the two for the density
    threshold: int  # ``density * 2**32``
    # The coefficients of two bytes, for all 65,536 of them; of no length unless the kind is NORMAL
    pairs: NDArray[np.uint16]
    seeds: NDArray[np.int64]  # (n,): s_h; of no length unless the kind is GOOGLE
    # (width,): the bit of each hyperplane where a sum is zero; ``width`` is ``n``, rounded up to a multiple of
    # ``GROUP``
    ties: NDArray[np.uint8]
    # What a sum is multiplied by, so that products of projections are unbiased estimates of products of rows
    scale: float

    @classmethod
    def of(cls, kind: str, n: int, *, density: float = 1.0, seed: int = 0) -> Hyperplanes:
        """Derive all from the seed."""
        number = KINDS[kind]
        first, second, *others = splitmix64(seed, 2 + (n if number == GOOGLE else 0))
        keys = np.array([part for value in (first, second) for part in (value % 2**32, value >> 32)], dtype=np.uint32)
        width = -(-n // GROUP) * GROUP
        signs = np.empty(width, dtype=np.int8)
        _fill_signs(TIE_COLUMN, keys, np.empty(width // GROUP, dtype=np.uint32), signs)
        return cls(
            kind=number,
            n=n,
            keys=keys,
            threshold=int(density * 2**32),
            pairs=_PAIRS if number == NORMAL else _PAIRS[:0],
            seeds=np.array([1 + value % (PRIME - 1) for value in others], dtype=np.int64),
            ties=(signs > 0).astype(np.uint8),
            scale=1 / (PRIME // 2) if number == GOOGLE else 1 / sqrt(n * density * mean_square(number)),
        )


def mean_square(kind: int) -> float:
    """Return the mean of a coefficient's square before the density makes zeros, for a kind but GOOGLE."""
    return float(np.mean(QUANTILES.astype(np.float64) ** 2)) if kind == NORMAL else 1.0


@inlined
def mix(word: Number) -> Number:
    """MurmurHash3's finaliser."""
    word = np.uint32((word ^ np.uint32(word >> np.uint32(16))) * _FIRST)
    word = np.uint32((word ^ np.uint32(word >> np.uint32(13))) * _SECOND)
    return np.uint32(word ^ np.uint32(word >> np.uint32(16)))


@inlined
def start_of(column: Number, key: Number) -> Number:
    """Mix both halves of a column's number under a key."""
    inner = mix(np.uint32(np.uint32(column & 0xFFFFFFFF) ^ key))
    return mix(np.uint32(inner ^ np.uint32((column >> 32) & 0xFFFFFFFF)))


@compiled
def _fill_words(column: Number, key_a: Number, key_b: Number, words: NDArray[np.uint32]) -> None:
    state = start_of(column, key_a)
    step = np.uint32(start_of(column, key_b) | np.uint32(1))
    for place in range(len(words)):
        words[place] = mix(np.uint32(state + np.uint32(np.uint32(place) * step)))


@compiled
def _fill_signs(column: Number, keys: NDArray[np.uint32], words: NDArray[np.uint32], out: NDArray[np.int8]) -> None:
    n_words = len(out) // GROUP
    _fill_words(column, keys[0], keys[1], words[:n_words])
    eights = out.view(np.uint64)
    for place in range(n_words):
        word = words[place]
        eights[4 * place] = _SIGNS[word & np.uint32(255)]
        eights[4 * place + 1] = _SIGNS[(word >> np.uint32(8)) & np.uint32(255)]
        eights[4 * place + 2] = _SIGNS[(word >> np.uint32(16)) & np.uint32(255)]
        eights[4 * place + 3] = _SIGNS[word >> np.uint32(24)]


@compiled
def _fill_quantiles(
    column: Number,
    keys: NDArray[np.uint32],
    pairs: NDArray[np.uint16],
    words: NDArray[np.uint32],
    out: NDArray[np.int8],
) -> None:
    n_words = len(out) // 4
    _fill_words(column, keys[0], keys[1], words[:n_words])
    twos = out.view(np.uint16)
    for place in range(n_words):
        word = words[place]
        twos[2 * place] = pairs[word & np.uint32(0xFFFF)]
        twos[2 * place + 1] = pairs[word >> np.uint32(16)]


@compiled
def fill_column(
    column: Number,
    kind: Number,
    keys: NDArray[np.uint32],
    threshold: Number,
    pairs: NDArray[np.uint16],
    words: NDArray[np.uint32],  # (width,)
    out: NDArray[np.int8],  # (width,)
) -> None:
    """Write the coefficients of one column in all hyperplanes, NORMAL or SIGN."""
    if kind == NORMAL:
        _fill_quantiles(column, keys, pairs, words, out)
    else:
        _fill_signs(column, keys, words, out)
    if threshold < 2**32:
        _fill_words(column, keys[2], keys[3], words)
        for place in range(len(out)):
            out[place] = out[place] * np.int8(words[place] < threshold)


def coefficients(
    columns: NDArray[Any],  # (n_columns,)
    hyperplanes: Hyperplanes,
) -> NDArray[np.int64]:  # (n_columns, n)
    """Return the coefficients of some columns: for looking at them, since projecting needs no array of them."""
    columns = np.asarray(columns, dtype=np.int64)
    if hyperplanes.kind == GOOGLE:
        values = (columns[:, np.newaxis] % PRIME) * hyperplanes.seeds % PRIME
        return np.where(values > PRIME // 2, values - PRIME, values)
    out = np.empty((len(columns), len(hyperplanes.ties)), dtype=np.int8)
    words = np.empty(out.shape[1], dtype=np.uint32)
    for column, row in zip(columns, out, strict=True):
        fill_column(column, hyperplanes.kind, hyperplanes.keys, hyperplanes.threshold, hyperplanes.pairs, words, row)
    return out[:, : hyperplanes.n].astype(np.int64)
