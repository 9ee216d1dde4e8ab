"""Coefficients of random hyperplanes, computed from the index of a column and never stored."""

# The specification. The coefficient r(j; h) of column j, a 64-bit integer, in hyperplane h follows
# from 32-bit words. With `fmix32` the finalizer of MurmurHash3, `low` and `high` the halves of j,
# and all arithmetic modulo 2**32:
#
# 1. state = fmix32(fmix32(low ^ a) ^ high) and step = fmix32(fmix32(low ^ b) ^ high) | 1;
# 2. word number w of the column is fmix32(state + w * step).
#
# "normal": byte h % 4 (the lowest is 0) of word h // 4, looked up in QUANTILES.
# "sign": bit h % 32 of word h // 32, +1 if set, else -1.
# "google": j * s_h modulo p = 2**31 - 1, minus p if that exceeds p // 2, as in the code released
#     with the paper (https://github.com/tensorflow/models,
#     research/sequence_projection/sgnn/sgnn_projection.cc); s_h is 1 plus SplitMix64's value number
#     h + 3 modulo p - 1.
#
# The keys a and b are the low and the high half of SplitMix64's first value for the seed. With
# density < 1 a coefficient stays if word h of the column, with the halves of SplitMix64's second
# value as keys, is below density * 2**32; else it is 0. If a sum is zero, the bit of the hyperplane
# is its sign (as for "sign", for any kind) in column -1. The first hyperplanes do not depend on how
# many follow.

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp._hash_specification import splitmix64
from sklearn_hashnlp.kernels import _native

PROJECTION_SPECIFICATION = 1
"""The version of the specification above; a saved model holds it."""

NORMAL = 0
SIGN = 1
GOOGLE = 2
KINDS = {"normal": NORMAL, "sign": SIGN, "google": GOOGLE}

GROUP = 32
"""Hyperplanes are computed in groups of 32: one word of signs, or eight words of bytes."""

PRIME = 2**31 - 1
"""The Mersenne prime of the "google" projection."""

TIE_COLUMN = -1
"""The column whose signs break ties, that is sums of zero."""

# The mean of a standard normal number within each of the 128 upper ones of 256 equally likely bins,
# times 127 / 2.96910168 and rounded to the nearest integer but 0. (Means of bins are closer to a
# normal distribution than their middles: the kurtosis is 2.96 and not 2.92.)
# fmt: off
_UPPER_QUANTILES = (
    1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7,
    7, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11, 12, 12, 13, 13, 13,
    14, 14, 15, 15, 16, 16, 17, 17, 17, 18, 18, 19, 19, 20, 20, 21,
    21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27, 28, 28, 29,
    29, 30, 30, 31, 31, 32, 32, 33, 33, 34, 35, 35, 36, 36, 37, 38,
    38, 39, 40, 40, 41, 41, 42, 43, 44, 44, 45, 46, 46, 47, 48, 49,
    50, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 64, 65,
    66, 68, 69, 71, 73, 74, 76, 79, 81, 84, 87, 90, 94, 100, 108, 127,
)
# fmt: on
QUANTILES = np.array(
    [-value for value in reversed(_UPPER_QUANTILES)] + list(_UPPER_QUANTILES), dtype=np.int8
)
"""The coefficient of each of the 256 values of a byte, ascending and symmetric."""


class Hyperplanes(NamedTuple):
    """Random hyperplanes as the kernels read them; see the specification above."""

    kind: int  # NORMAL, SIGN or GOOGLE
    n: int  # number of hyperplanes
    keys: NDArray[np.uint32]  # (4,): a and b, and the two of the density
    threshold: int  # ``density * 2**32``
    quantiles: NDArray[np.int8]  # (256,): QUANTILES
    seeds: NDArray[np.int64]  # (n,): s_h; empty unless the kind is GOOGLE
    # (width,): bit of each hyperplane for a sum of zero; n rounded up to a multiple of GROUP
    ties: NDArray[np.uint8]
    # factor of sums: dot products of projections are unbiased estimates of dot products of rows
    scale: float

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, kind: str, n: int, *, density: float = 1.0, seed: int = 0) -> Hyperplanes:
        """Derive hyperplanes from a seed."""
        kind_code = KINDS[kind]
        first, second, *others = splitmix64(seed, 2 + (n if kind_code == GOOGLE else 0))
        keys = np.array(
            [part for value in (first, second) for part in (value % 2**32, value >> 32)],
            dtype=np.uint32,
        )
        width = -(-n // GROUP) * GROUP
        hyperplanes = cls(
            kind=kind_code,
            n=n,
            keys=keys,
            threshold=int(density * 2**32),
            quantiles=QUANTILES,
            seeds=np.array([1 + value % (PRIME - 1) for value in others], dtype=np.int64),
            ties=np.empty(width, dtype=np.uint8),
            scale=1 / (PRIME // 2)
            if kind_code == GOOGLE
            else 1 / sqrt(n * density * mean_square(kind_code)),
        )
        signs = _coefficients([TIE_COLUMN], width, hyperplanes._replace(kind=SIGN, threshold=2**32))
        hyperplanes.ties[:] = signs[0] > 0
        return hyperplanes


def mean_square(kind: int) -> float:
    """Return the mean square of a coefficient at density 1, for NORMAL and SIGN."""
    return float(np.mean(QUANTILES.astype(np.float64) ** 2)) if kind == NORMAL else 1.0


def coefficients(
    columns: NDArray[Any],  # (n_columns,)
    hyperplanes: Hyperplanes,
) -> NDArray[np.int64]:  # (n_columns, n)
    """Return the coefficients of some columns; projecting needs no array of them."""
    if hyperplanes.kind == GOOGLE:
        values = (
            (np.asarray(columns, dtype=np.int64)[:, np.newaxis] % PRIME) * hyperplanes.seeds % PRIME
        )
        return np.where(values > PRIME // 2, values - PRIME, values)
    return _coefficients(columns, len(hyperplanes.ties), hyperplanes)[:, : hyperplanes.n].astype(
        np.int64
    )


def _coefficients(columns: ArrayLike, width: int, hyperplanes: Hyperplanes) -> NDArray[np.int8]:
    """Return the coefficients of columns in the first groups of hyperplanes (NORMAL or SIGN)."""
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    out = np.empty((len(columns), width), dtype=np.int8)
    _native.coefficients(
        columns, hyperplanes.kind, hyperplanes.keys, hyperplanes.threshold, QUANTILES, out
    )
    return out
