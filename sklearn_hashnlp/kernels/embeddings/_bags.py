"""Forward and backward pass of bags: documents of weighted ids to sums of their hash embeddings."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages, prefetch_row
from sklearn_hashnlp.kernels._rows import group_rows

NO_BAG_NORM, L1_BAG_NORM, L2_BAG_NORM = 0, 1, 2

_INDEX = np.uint64  # a signed index costs a test for negative ones
_AHEAD = 16  # values between the prefetch of a row and its use
_FEW_VALUES = 8  # of a document that are added row by row; the sums are the same


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


Groups: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]  # as group_rows returns them


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
    _embed(offsets, counts, pool if importance is None else importance, pool, importance is None, layout, bags)
    return bags


@compiled
def _embed(
    offsets: NDArray[np.int64],
    counts: NDArray[Any],
    importance: NDArray[Any],
    pool: NDArray[Any],
    standard: bool,
    layout: BagLayout,
    bags: Bags,
) -> None:
    # Several loops over a document's values keep the sums in registers, which saves more than the loops cost.
    documents, norms, _, slots, weights = bags
    norm, append_weight = layout.norm, layout.append_weight and not standard
    n_hashes, width = slots.shape[1], pool.shape[1]
    whole = width - width % 4
    zero, one = documents.dtype.type(0), documents.dtype.type(1)
    share = documents.dtype.type(1 / n_hashes)
    step = n_hashes if layout.concat else 1
    flat_slots, flat_weights = slots.reshape(slots.size), weights.reshape(weights.size)
    for document in range(len(norms)):
        if standard:
            for j in range(offsets[document], offsets[document + 1]):
                prefetch_row(pool, _INDEX(slots[min(j + _AHEAD, len(counts) - 1), 0]))
                weights[j, 0] = counts[j]
        else:
            _compute_weights(offsets[document], offsets[document + 1], counts, importance, pool, bags)
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
        if step == 1 and stop - start <= _FEW_VALUES:
            for column in range(width):
                vector[column] = zero
            for at in range(start, stop):
                weight, slot = flat_weights[_INDEX(at)], _INDEX(flat_slots[_INDEX(at)])
                for column in range(width):
                    vector[_INDEX(column)] += weight * pool[slot, _INDEX(column)]
            for column in range(width):
                vector[_INDEX(column)] /= total
            continue
        for i in range(step):
            for column in range(0, whole, 4):  # four at a time are one instruction
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


@inner
def _compute_weights(
    start: Number, stop: Number, counts: NDArray[Any], importance: NDArray[Any], pool: NDArray[Any], bags: Bags
) -> None:
    rows, slots, weights = bags.rows, bags.slots, bags.weights
    last = len(counts) - 1
    for j in range(start, stop):
        ahead = _INDEX(min(j + _AHEAD, last))
        prefetch_row(importance, _INDEX(rows[ahead]))
        row = _INDEX(rows[_INDEX(j)])
        for i in range(slots.shape[1]):
            prefetch_row(pool, _INDEX(slots[ahead, _INDEX(i)]))
            weights[_INDEX(j), _INDEX(i)] = counts[_INDEX(j)] * importance[row, _INDEX(i)]


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
    return BagGroups(group_rows(slots.reshape(slots.size), n_slots), group_rows(rows, n_rows), owners)


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
    gradients = gradients.copy()
    norm_gradients = np.empty_like(bags.norms)
    _sum_gradients(gradients, bags.documents, bags.norms, norm_gradients)
    products = np.empty_like(bags.weights)
    n_hashes = bags.weights.shape[1] if layout.concat else 1
    owners, weights, flat_products = (array.reshape(array.size) for array in (groups.owners, bags.weights, products))
    pool_gradients = _pool_gradients(
        groups.pool, n_hashes, owners, weights, gradients, pool, flat_products[: 0 if importance is None else None]
    )
    if importance is None:
        return pool_gradients, None
    return pool_gradients, _importance_gradients(
        groups.importance, counts, groups.owners, bags, gradients, norm_gradients, layout, products
    )


@compiled
def _sum_gradients(
    gradients: NDArray[Any], documents: NDArray[Any], norms: NDArray[Any], norm_gradients: NDArray[Any]
) -> None:
    # Convert the gradient of a document's vector to the gradients of its sum and its norm.
    for document in range(len(norms)):
        norm_gradient = gradients.dtype.type(0)
        for column in range(documents.shape[1]):
            norm_gradient += gradients[document, column] * documents[document, column]
            gradients[document, column] /= norms[document]
        norm_gradients[document] = norm_gradient / norms[document]


@compiled
def _pool_gradients(
    groups: Groups,
    n_hashes: Number,
    owners: NDArray[np.int32],
    weights: NDArray[Any],
    gradients: NDArray[Any],
    pool: NDArray[Any],
    products: NDArray[Any],
) -> RowGradients:
    # Owners, weights and products are flattened here; n_hashes is 1 unless components are concatenated. Products are
    # for importance weights: without these there are none, and the pool is not read.
    order, starts, rows = groups
    width = pool.shape[1]
    values = in_huge_pages(np.empty((len(rows), width), pool.dtype))
    values[:] = 0
    for group in range(len(rows)):
        if len(products) == 0:
            for at in range(starts[group], starts[group + 1]):
                owner, weight = _INDEX(owners[order[at]]), weights[order[at]]
                for column in range(width):
                    values[_INDEX(group), _INDEX(column)] += weight * gradients[owner, _INDEX(column)]
            continue
        prefetch_row(pool, _INDEX(rows[min(group + _AHEAD, len(rows) - 1)]))
        row = _INDEX(rows[group])
        for at in range(starts[group], starts[group + 1]):
            value = _INDEX(order[at])
            first = (value % n_hashes) * width if n_hashes > 1 else 0
            owner, weight = _INDEX(owners[value]), weights[value]
            product = gradients.dtype.type(0)
            for column in range(width):
                gradient = gradients[owner, _INDEX(first + column)]
                values[_INDEX(group), _INDEX(column)] += weight * gradient
                product += pool[row, _INDEX(column)] * gradient
            products[value] = product
    return RowGradients(rows, values)


@compiled
def _importance_gradients(
    groups: Groups,
    counts: NDArray[Any],
    owners: NDArray[np.int32],
    bags: Bags,
    gradients: NDArray[Any],
    norm_gradients: NDArray[Any],
    layout: BagLayout,
    products: NDArray[Any],
) -> RowGradients:
    order, starts, rows = groups
    norms, weights, append_weight, norm = bags.norms, bags.weights, layout.append_weight, layout.norm
    n_hashes = weights.shape[1]
    values = in_huge_pages(np.empty((len(rows), n_hashes), gradients.dtype))
    values[:] = 0
    share = values.dtype.type(1 / n_hashes)
    for group in range(len(starts) - 1):
        for at in range(starts[group], starts[group + 1]):
            j = _INDEX(order[at])
            document = _INDEX(owners[j, 0])
            for i in range(n_hashes):
                gradient = products[j, i]
                if append_weight:
                    gradient += gradients[document, gradients.shape[1] - n_hashes + i]
                if norm == L2_BAG_NORM:
                    gradient -= norm_gradients[document] * share * weights[j, i] / norms[document]
                elif norm == L1_BAG_NORM:
                    gradient -= norm_gradients[document] * share * np.sign(weights[j, i])
                values[group, i] += counts[j] * gradient
    return RowGradients(rows, values)
