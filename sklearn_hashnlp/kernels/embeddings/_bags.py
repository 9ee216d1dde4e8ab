"""Forward and backward pass of bags: documents of weighted ids to sums of their hash embeddings."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._rows import group_rows

NO_BAG_NORM = 0
L1_BAG_NORM = 1
L2_BAG_NORM = 2


class BagLayout(NamedTuple):
    """The options of a bag."""

    variant: int  # ``IMPROVED``, ``PAPER`` or ``STANDARD``
    concat: bool  # whether components are concatenated rather than summed
    append_weight: bool  # whether the sum of the importance weights follows the vector
    norm: int  # ``NO_BAG_NORM``, ``L1_BAG_NORM`` or ``L2_BAG_NORM``


class Bags(NamedTuple):
    """The vectors of documents, and the inputs of their backward pass."""

    documents: NDArray[Any]  # (n_documents, output_dim): their vectors
    norms: NDArray[Any]  # (n_documents,): divisors of their sums
    rows: NDArray[np.int32]  # (n_values,): importance row of each value
    slots: NDArray[np.int32]  # (n_values, k): pool rows of each value
    weights: NDArray[Any]  # (n_values, k): importance times count


class RowGradients(NamedTuple):
    """The gradient of a table: the rows that have one, and their values."""

    rows: NDArray[np.int64]  # (n,): ascending, each once
    values: NDArray[Any]  # (n, n_columns): their gradients


# What group_rows returns
Groups: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


class BagGroups(NamedTuple):
    """The values of each row, for each table."""

    pool: Groups  # the flattened slots by pool row
    importance: Groups  # the values by importance row
    owners: NDArray[np.int32]  # (n_values, k): document of each value


def embed_bags(
    rows: NDArray[np.int32],  # (n_values,)
    slots: NDArray[np.int32],  # (n_values, k)
    offsets: NDArray[np.int64],  # (n_documents + 1,)
    counts: NDArray[Any],  # (n_values,)
    pool: NDArray[Any],  # (n_buckets, d)
    importance: NDArray[Any] | None,  # (n_embeddings, k)
    layout: BagLayout,
) -> Bags:
    """Return the sum of the hash embeddings of each document's ids."""
    n_hashes, n_documents = slots.shape[1], len(offsets) - 1
    width = pool.shape[1] * n_hashes if layout.concat else pool.shape[1]
    if importance is not None and layout.append_weight:
        width += n_hashes
    bags = Bags(
        documents=np.empty((n_documents, width), dtype=pool.dtype),
        norms=np.empty(n_documents, dtype=pool.dtype),
        rows=rows,
        slots=slots,
        weights=np.empty(slots.shape, dtype=pool.dtype),
    )
    tables = np.ascontiguousarray(pool), np.ascontiguousarray(_or_none(importance, pool.dtype))
    results = bags.documents, bags.norms, bags.weights
    arguments: list[Any] = [rows, slots, offsets, counts, *tables, *layout, *results]
    _native.embed_bags(*arguments)
    return bags


def _or_none(importance: NDArray[Any] | None, dtype: Any) -> NDArray[Any]:
    return np.empty((0, 1), dtype=dtype) if importance is None else importance


def group_bags(
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
    offsets: NDArray[np.int64],  # (n_documents + 1,)
    n_rows: int,
    n_slots: int,
) -> BagGroups:
    """Group the values by row, for :func:`bag_gradients`."""
    documents = np.arange(len(offsets) - 1, dtype=np.int32)
    owners = np.repeat(documents, np.diff(offsets) * slots.shape[1]).reshape(slots.shape)
    return BagGroups(
        group_rows(slots.reshape(slots.size), n_slots), group_rows(rows, n_rows), owners
    )


def bag_gradients(
    gradients: NDArray[Any],  # (n_documents, output_dim)
    bags: Bags,
    counts: NDArray[Any],  # (n_values,)
    pool: NDArray[Any],
    importance: NDArray[Any] | None,
    layout: BagLayout,
    groups: BagGroups,
) -> tuple[RowGradients, RowGradients | None]:
    """Return the gradients of both tables, each row summed in the order of its occurrences."""
    (of_pool, of_importance, owners), n_hashes = groups, bags.weights.shape[1]
    rows_of_pool, rows = of_pool[2], of_importance[2]
    pool_values = np.zeros((len(rows_of_pool), pool.shape[1]), dtype=pool.dtype)
    values = np.zeros((0 if importance is None else len(rows), n_hashes), dtype=pool.dtype)
    results = *of_pool, pool_values, *of_importance, values
    arrays = gradients, bags.documents, bags.norms, bags.weights, counts, np.ascontiguousarray(pool)
    arguments: list[Any] = [*arrays, *layout[1:], owners, *results]
    _native.bag_gradients(*arguments)
    return RowGradients(rows_of_pool, pool_values), None if importance is None else RowGradients(
        rows, values
    )
