"""Crops of rows: what rows would be if there were less of their texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows

_MOST = 1000  # rows: more change the fit little


def rows_and_crops(
    rows: SparseRows, some: NDArray[np.int64], cropped: NDArray[np.int64], common: NDArray[Any], seed: int
) -> tuple[SparseRows, int]:
    """Return ``some`` rows followed by crops of ``cropped`` ones, and the number of crops."""
    chosen = rows.select(some)
    if len(cropped) == 0:
        return chosen, 0
    crops, _ = crops_of(rows, cropped, common, seed)
    return chosen.joined(crops), len(crops)


def crops_of(
    rows: SparseRows, some: NDArray[np.int64], common: NDArray[Any], seed: int
) -> tuple[SparseRows, NDArray[np.int64]]:
    """Return crops of at most 1,000 of some rows, with their targets, and the indices of their rows in ``some``.

    A crop has the columns that a row shares with a random row, but not with a second one: a few words, with all of
    their n-grams. Random columns of a row would say more than words, since they are of different words. The columns
    ``common`` to all rows stay.
    """
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.permutation(len(some))[:_MOST])
    if len(chosen) == 0:
        return rows.select(chosen), chosen
    parts = [rows.select(part) for part in (some[chosen], *generator.integers(len(rows), size=(2, len(chosen))))]
    shape = (len(chosen), 1 + max(int(part.indices.max(initial=0)) for part in parts))
    own, first, second = (csr_array((part.data, part.indices, part.indptr), shape=shape) for part in parts)
    first.data = np.ones_like(first.data)
    second.data = (~np.isin(second.indices, common)).astype(second.data.dtype)
    second.eliminate_zeros()
    shared = own.multiply(first).tocsr()
    crops = csr_array(shared - shared.multiply(second))
    crops.eliminate_zeros()
    crops.sort_indices()
    owners = some[chosen]
    weights = None if rows.row_weights is None else rows.row_weights[owners]
    return SparseRows(crops, rows.targets[owners], weights), chosen
