"""Documents of weighted ids to sums of hash embeddings, and the gradients of both tables on the way back.

Indices are made unsigned where they are many: for a signed one the compiler has to ask whether it counts from the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._intrinsics import prefetch_row
from sklearn_hashnlp.kernels._rows import group_rows

NO_BAG_NORM, L1_BAG_NORM, L2_BAG_NORM = 0, 1, 2

_INDEX = np.uint64
_AHEAD = 16  # values between asking for a row and using it: long enough for memory to answer


class BagLayout(NamedTuple):
    """What a hash-embedding bag does with its tables."""

    variant: int  # ``IMPROVED``, ``PAPER`` or ``STANDARD``
    side_by_side: bool  # whether components are put side by side rather than added up
    append_weight: bool  # whether the sum of the importance weights follows the vector
    norm: int  # ``NO_BAG_NORM``, ``L1_BAG_NORM`` or ``L2_BAG_NORM``


class Bags(NamedTuple):
    """Documents, and all that the way back needs to know of them."""

    documents: NDArray[Any]  # (n_documents, output_dim): their vectors
    norms: NDArray[Any]  # (n_documents,): what their sums were divided by
    rows: NDArray[np.int32]  # (n_values,): importance row of each value
    slots: NDArray[np.int32]  # (n_values, k): pool rows of each value
    weights: NDArray[Any]  # (n_values, k): importance times count


class RowGradients(NamedTuple):
    """Gradient of a table, by the rows that have one."""

    rows: NDArray[np.int64]  # (n,): ascending, each once
    values: NDArray[Any]  # (n, n_columns): their gradients


@compiled
def _weigh(
    start: Number,
    stop: Number,
    counts: NDArray[Any],
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
    importance: NDArray[Any],
    pool: NDArray[Any],
    weights: NDArray[Any],
) -> None:
    last = len(counts) - 1
    for j in range(start, stop):
        ahead = _INDEX(min(j + _AHEAD, last))
        prefetch_row(importance, _INDEX(rows[ahead]))
        row = _INDEX(rows[_INDEX(j)])
        for i in range(slots.shape[1]):
            prefetch_row(pool, _INDEX(slots[ahead, _INDEX(i)]))
            weights[_INDEX(j), _INDEX(i)] = counts[_INDEX(j)] * importance[row, _INDEX(i)]


@compiled
def _embed(
    offsets: NDArray[np.int64],
    counts: NDArray[Any],
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
    importance: NDArray[Any],
    pool: NDArray[Any],
    standard: bool,
    side_by_side: bool,
    append_weight: bool,
    norm: Number,
    documents: NDArray[Any],
    norms: NDArray[Any],
    weights: NDArray[Any],
) -> None:
    # A document's values are gone through several times, since sums that stay in registers save more than that costs.
    n_hashes, width = slots.shape[1], pool.shape[1]
    whole = width - width % 4
    zero, one = documents.dtype.type(0), documents.dtype.type(1)
    share = documents.dtype.type(1 / n_hashes)
    step = n_hashes if side_by_side else 1
    flat_slots, flat_weights = slots.reshape(slots.size), weights.reshape(weights.size)
    for document in range(len(norms)):
        if standard:
            weights[offsets[document] : offsets[document + 1], 0] = counts[offsets[document] : offsets[document + 1]]
        else:
            _weigh(offsets[document], offsets[document + 1], counts, rows, slots, importance, pool, weights)
        vector = documents[document]
        start, stop = offsets[document] * n_hashes, offsets[document + 1] * n_hashes
        total = zero
        for i in range(n_hashes):
            appended = zero
            for at in range(start + i, stop, n_hashes):
                weight = flat_weights[_INDEX(at)]
                appended += weight
                total += weight * weight if norm == L2_BAG_NORM else abs(weight)
            if append_weight:
                vector[len(vector) - n_hashes + i] = appended
        total *= share
        if norm == L2_BAG_NORM:
            total = np.sqrt(total)
        if norm == NO_BAG_NORM or total == zero:
            total = one
        norms[document] = total
        for column in range(len(vector) - n_hashes * append_weight, len(vector)):
            vector[column] /= total
        for i in range(step):
            for column in range(0, whole, 4):  # four at a time become one instruction
                sum_0 = sum_1 = sum_2 = sum_3 = zero
                for at in range(start + i, stop, step):
                    weight, slot = flat_weights[_INDEX(at)], _INDEX(flat_slots[_INDEX(at)])
                    sum_0 += weight * pool[slot, _INDEX(column)]
                    sum_1 += weight * pool[slot, _INDEX(column + 1)]
                    sum_2 += weight * pool[slot, _INDEX(column + 2)]
                    sum_3 += weight * pool[slot, _INDEX(column + 3)]
                at = i * width + column
                vector[at], vector[at + 1], vector[at + 2], vector[at + 3] = (
                    sum_0 / total,
                    sum_1 / total,
                    sum_2 / total,
                    sum_3 / total,
                )
            for column in range(whole, width):
                sum_0 = zero
                for at in range(start + i, stop, step):
                    slot = _INDEX(flat_slots[_INDEX(at)])
                    sum_0 += flat_weights[_INDEX(at)] * pool[slot, _INDEX(column)]
                vector[i * width + column] = sum_0 / total


class BagGroups(NamedTuple):
    """Which values share a row, for each table, as :func:`group_rows` tells."""

    pool: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]  # of the flattened slots
    importance: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]  # of the importance rows
    owners: NDArray[np.int32]  # (n_values, k): document of each slot


def group_bags(
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
    offsets: NDArray[np.int64],  # (n_documents + 1,)
    n_rows: int,
    n_slots: int,
) -> BagGroups:
    """Bring together the values that share a row, for :func:`bag_gradients`."""
    documents = np.arange(len(offsets) - 1, dtype=np.int32)
    owners = np.repeat(documents, np.diff(offsets) * slots.shape[1]).reshape(slots.shape)
    return BagGroups(group_rows(slots.reshape(slots.size), n_slots), group_rows(rows, n_rows), owners)


def embed_bags(
    rows: NDArray[np.int32],  # (n_values,)
    slots: NDArray[np.int32],  # (n_values, k)
    offsets: NDArray[np.int64],  # (n_documents + 1,)
    counts: NDArray[Any],  # (n_values,)
    pool: NDArray[Any],  # (n_buckets, d)
    importance: NDArray[Any] | None,  # (n_embeddings, k)
    layout: BagLayout,
) -> Bags:
    """Add up the hash embeddings of each document's ids."""
    standard = importance is None
    n_hashes, width = slots.shape[1], pool.shape[1]
    width = width * n_hashes if layout.side_by_side else width
    append_weight = layout.append_weight and not standard
    n_documents = len(offsets) - 1
    bags = Bags(
        documents=np.empty((n_documents, width + n_hashes * append_weight), dtype=pool.dtype),
        norms=np.empty(n_documents, dtype=pool.dtype),
        rows=rows,
        slots=slots,
        weights=np.empty(slots.shape, dtype=pool.dtype),
    )
    _embed(
        offsets,
        counts,
        rows,
        slots,
        pool if importance is None else importance,
        pool,
        standard,
        layout.side_by_side,
        append_weight,
        layout.norm,
        bags.documents,
        bags.norms,
        bags.weights,
    )
    return bags


@compiled
def _descend(gradients: NDArray[Any], documents: NDArray[Any], norms: NDArray[Any], pulls: NDArray[Any]) -> None:
    # From the gradient of a document's vector to that of its sum, and to the pull of its norm.
    for document in range(len(norms)):
        pull = gradients.dtype.type(0)
        for column in range(documents.shape[1]):
            pull += gradients[document, column] * documents[document, column]
            gradients[document, column] /= norms[document]
        pulls[document] = pull / norms[document]


@compiled
def _pool_gradients(
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    n_hashes: Number,
    owners: NDArray[np.int32],
    weights: NDArray[Any],
    gradients: NDArray[Any],
    pool: NDArray[Any],
    products: NDArray[Any],
    values: NDArray[Any],
) -> None:
    # Of owners, weights and products the two axes are one here; n_hashes is 1 unless components lie side by side.
    width = pool.shape[1]
    for place in range(len(rows)):
        prefetch_row(pool, _INDEX(rows[min(place + _AHEAD, len(rows) - 1)]))
        row = _INDEX(rows[place])
        for at in range(starts[place], starts[place + 1]):
            value = _INDEX(order[at])
            first = (value % n_hashes) * width if n_hashes > 1 else 0
            owner, weight = _INDEX(owners[value]), weights[value]
            product = gradients.dtype.type(0)
            for column in range(width):
                gradient = gradients[owner, _INDEX(first + column)]
                values[_INDEX(place), _INDEX(column)] += weight * gradient
                product += pool[row, _INDEX(column)] * gradient
            products[value] = product


@compiled
def _importance_gradients(
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    counts: NDArray[Any],
    owners: NDArray[np.int32],
    weights: NDArray[Any],
    gradients: NDArray[Any],
    norms: NDArray[Any],
    pulls: NDArray[Any],
    append_weight: bool,
    norm: Number,
    products: NDArray[Any],
    values: NDArray[Any],
) -> None:
    n_hashes = weights.shape[1]
    share = values.dtype.type(1 / n_hashes)
    for place in range(len(starts) - 1):
        for at in range(starts[place], starts[place + 1]):
            j = _INDEX(order[at])
            document = _INDEX(owners[j, 0])
            for i in range(n_hashes):
                slope = products[j, i]
                if append_weight:
                    slope += gradients[document, gradients.shape[1] - n_hashes + i]
                if norm == L2_BAG_NORM:
                    slope -= pulls[document] * share * weights[j, i] / norms[document]
                elif norm == L1_BAG_NORM:
                    slope -= pulls[document] * share * np.sign(weights[j, i])
                values[place, i] += counts[j] * slope


def bag_gradients(
    gradients: NDArray[Any],  # (n_documents, output_dim)
    bags: Bags,
    counts: NDArray[Any],  # (n_values,)
    pool: NDArray[Any],
    importance: NDArray[Any] | None,
    layout: BagLayout,
    groups: BagGroups,
) -> tuple[RowGradients, RowGradients | None]:
    """Differentiate :func:`embed_bags` with respect to both tables."""
    n_hashes = bags.slots.shape[1]
    gradients = gradients.copy()
    pulls = np.empty_like(bags.norms)
    _descend(gradients, bags.documents, bags.norms, pulls)
    products = np.empty_like(bags.weights)
    order, starts, slots = groups.pool
    of_pool = RowGradients(slots, np.zeros((len(slots), pool.shape[1]), dtype=pool.dtype))
    _pool_gradients(
        order,
        starts,
        slots,
        n_hashes if layout.side_by_side else 1,
        groups.owners.reshape(groups.owners.size),
        bags.weights.reshape(bags.weights.size),
        gradients,
        pool,
        products.reshape(products.size),
        of_pool.values,
    )
    if importance is None:
        return of_pool, None
    order, starts, rows = groups.importance
    of_importance = RowGradients(rows, np.zeros((len(rows), n_hashes), dtype=pool.dtype))
    _importance_gradients(
        order,
        starts,
        counts,
        groups.owners,
        bags.weights,
        gradients,
        bags.norms,
        pulls,
        layout.append_weight,
        layout.norm,
        products,
        of_importance.values,
    )
    return of_pool, of_importance
