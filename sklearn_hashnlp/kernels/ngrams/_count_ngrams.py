"""n-grams and skip-grams hashed by MurmurHash3, and counted into the rows of a CSR matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import Units

NO_NORM = 0
L1 = 1
L2 = 2
"""The norms that rows are divided by."""


class Rows(NamedTuple):
    """Rows of a CSR matrix, with scipy's names of the arrays."""

    indices: NDArray[np.int32]
    data: NDArray[Any]
    indptr: NDArray[np.int64]


def new_rows(dtype: type[np.floating[Any]]) -> Any:
    """Return native rows that grow."""
    return _native.RowsFloat32() if dtype is np.float32 else _native.RowsFloat64()


def hash_ngrams(
    units: Units, ngram_range: tuple[int, int], *, short_segments_whole: bool = False
) -> Ragged:
    """Hash all n-grams of segments; ``short_segments_whole`` makes one of any below ``min_n``."""
    # No segment has as many units as there are boundaries; larger numbers overflow 64 bits.
    min_n, max_n = (min(n, len(units.boundaries)) for n in ngram_range)
    return Ragged(*_native.hash_ngrams(*units, min_n, max_n, short_segments_whole))


def hash_skipgrams(units: Units, ngram_range: tuple[int, int], *, max_skip: int) -> Ragged:
    """Hash all skip-grams of every segment: n words in order, with at most ``max_skip`` skipped."""
    min_n, max_n, max_skip = (min(n, len(units.boundaries)) for n in (*ngram_range, max_skip))
    return Ragged(*_native.hash_skipgrams(*units[:4], min_n, max_n, max_skip))


def count_hashes(
    hashes: Ragged,
    *,
    n_features: int,
    alternate_sign: bool = False,
    binary: bool = False,
    norm: int = NO_NORM,
    damped: bool = False,
    dtype: type[np.floating[Any]] = np.float64,
) -> Rows:
    """Count the occurrences of columns in each row; hash h has column ``abs(h) % n_features``."""
    # A column with canceled signs stays in the matrix as 0, as in scikit-learn.
    rows = new_rows(dtype)
    options = _native.CountOptions(n_features, alternate_sign, binary, norm, damped, 1.0)
    rows.append_hashes(*hashes, options)
    return Rows(*rows.release())
