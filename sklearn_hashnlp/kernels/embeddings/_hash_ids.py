"""Ids hashed to rows of tables, and counts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native

# the order of nn's VARIANTS
IMPROVED = 0
PAPER = 1
STANDARD = 2


def locate_ids(
    ids: NDArray[Any],  # (n_values,): of 32 or 64 bits
    # (k + 1, 3): constants of the hash functions of the importance table and of the pool
    constants: NDArray[np.uint64],
    n_rows: int,
    n_slots: int,
    variant: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # (n_values,), (n_values, k)
    """Hash ids to rows of the importance table and of the pool."""
    rows = np.empty(len(ids), dtype=np.int32)
    is_standard = variant == STANDARD
    slots = (
        rows[:, np.newaxis]
        if is_standard
        else np.empty((len(ids), len(constants) - 1), dtype=np.int32)
    )
    _native.locate_ids(ids, constants, n_rows, n_slots, variant, rows, slots)
    return rows, slots


def count_rows(
    ids: NDArray[Any],  # (n,): below 2**32, as columns are
    constants: tuple[int, ...],  # of the hash function
    n_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows that ids are hashed to, ascending, and the number of ids of each."""
    # the system maps the memory of rows that are written, no more
    counts = np.zeros(n_rows, dtype=np.int32)
    distinct = np.empty(len(ids), dtype=np.int32)
    arguments: list[Any] = [ids, *constants[:2], counts, distinct]
    rows = np.sort(distinct[: _native.count_rows(*arguments)])
    return rows, counts[rows]
