"""Documents of weighted ids to sums of hash embeddings, and the gradients of both tables on the way back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
from sklearn_hashnlp.kernels._prefetch import prefetch_row
from sklearn_hashnlp.kernels._row_order import group_rows

IMPROVED, PAPER, STANDARD = 0, 1, 2  # the order of nn's VARIANTS
NO_BAG_NORM, L1_BAG_NORM, L2_BAG_NORM = 0, 1, 2

_AHEAD = 16  # values between asking for a row and using it: long enough for memory to answer
_SHIFT = np.uint64(32)
_MIX_1 = np.uint32(0x85EBCA6B)
_MIX_2 = np.uint32(0xC2B2AE35)


class BagLayout(NamedTuple):
    """What a hash-embedding bag does with its tables.

    Parameters
    ----------
    variant : int
        ``IMPROVED``, ``PAPER`` or ``STANDARD``.
    side_by_side : bool
        Whether components are put side by side rather than added up.
    append_weight : bool
        Whether the sum of the importance weights follows the vector.
    norm : int
        ``NO_BAG_NORM``, ``L1_BAG_NORM`` or ``L2_BAG_NORM``.
    """

    variant: int
    side_by_side: bool
    append_weight: bool
    norm: int


class Bags(NamedTuple):
    """Documents, and all that the way back needs to know of them.

    Parameters
    ----------
    documents : ndarray of float of shape (n_documents, output_dim)
        Their vectors.
    norms : ndarray of float of shape (n_documents,)
        What their sums were divided by.
    owners : ndarray of int32 of shape (n_values, k)
        Document of each slot.
    rows : ndarray of int32 of shape (n_values,)
        Importance row of each value.
    slots : ndarray of int32 of shape (n_values, k)
        Pool rows of each value.
    weights : ndarray of float of shape (n_values, k)
        Importance times count.
    """

    documents: NDArray[Any]
    norms: NDArray[Any]
    owners: NDArray[np.int32]
    rows: NDArray[np.int32]
    slots: NDArray[np.int32]
    weights: NDArray[Any]


class RowGradients(NamedTuple):
    """Gradient of a table, by the rows that have one.

    Parameters
    ----------
    rows : ndarray of int64 of shape (n,)
        Ascending, each once.
    values : ndarray of float of shape (n, n_columns)
        Their gradients.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]


@inlined
def mix_id(key: Number) -> Number:
    """Scramble the low 32 bits of an id: MurmurHash3's ``fmix32``."""
    mixed = np.uint32(key)
    mixed = np.uint32((mixed ^ np.uint32(mixed >> np.uint32(16))) * _MIX_1)
    mixed = np.uint32((mixed ^ np.uint32(mixed >> np.uint32(13))) * _MIX_2)
    return np.uint64(np.uint32(mixed ^ np.uint32(mixed >> np.uint32(16))))


@inlined
def slot_of(mixed: Number, a: Number, b: Number, size: Number) -> Number:
    """Give the slot of a scrambled id in a table of ``size`` rows."""
    return np.int32((np.uint64((mixed * a + b) >> _SHIFT) * size) >> _SHIFT)


@compiled
def _locate(
    ids: NDArray[np.int64],
    constants: NDArray[np.uint64],
    n_rows: Number,
    n_slots: Number,
    variant: Number,
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> None:
    for j in range(len(ids)):
        mixed = mix_id(ids[j])
        row = slot_of(mixed, constants[0, 0], constants[0, 1], n_rows)
        rows[j] = row
        if variant == STANDARD:
            slots[j, 0] = row
            continue
        if variant == PAPER:
            mixed = mix_id(row)
        for i in range(slots.shape[1]):
            slots[j, i] = slot_of(mixed, constants[i + 1, 0], constants[i + 1, 1], n_slots)


def locate_ids(
    ids: NDArray[np.int64], constants: NDArray[np.uint64], n_rows: int, n_slots: int, variant: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the rows of both tables that ids use.

    Parameters
    ----------
    ids : ndarray of int64 of shape (n_values,)
        Only the low 32 bits count.
    constants : ndarray of uint64 of shape (k + 1, 2)
        Of the hash functions h, u_1 .. u_k.
    n_rows, n_slots : int
        Sizes of the importance table and of the pool.
    variant : int
        ``IMPROVED``, ``PAPER`` or ``STANDARD``.

    Returns
    -------
    rows : ndarray of int32 of shape (n_values,)
        Importance rows.
    slots : ndarray of int32 of shape (n_values, k)
        Pool rows; ``rows`` in one column for ``STANDARD``.

    Examples
    --------
    >>> import numpy as np
    >>> constants = np.array([[2**63 + 1, 5], [2**62 + 3, 7]], dtype=np.uint64)
    >>> rows, slots = locate_ids(np.array([3, 4, 3 + 2**32]), constants, 100, 10, IMPROVED)
    >>> rows.tolist(), slots.ravel().tolist()
    ([50, 50, 50], [7, 2, 7])
    """
    n_hashes = 1 if variant == STANDARD else len(constants) - 1
    rows = np.empty(len(ids), dtype=np.int32)
    slots = np.empty((len(ids), n_hashes), dtype=np.int32)
    _locate(ids, constants, np.uint64(n_rows), np.uint64(n_slots), variant, rows, slots)
    return rows, slots


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
    owners: NDArray[np.int32],
    weights: NDArray[Any],
) -> None:
    n_hashes, width = slots.shape[1], pool.shape[1]
    whole = width - width % 4
    zero, one = documents.dtype.type(0), documents.dtype.type(1)
    share = documents.dtype.type(1 / n_hashes)
    for document in range(len(norms)):
        vector = documents[document]
        total = zero
        for j in range(offsets[document], offsets[document + 1]):
            ahead = min(j + _AHEAD, len(counts) - 1)
            if not standard:
                prefetch_row(importance, rows[ahead])
            for i in range(n_hashes):
                prefetch_row(pool, slots[ahead, i])
                weight = counts[j] if standard else counts[j] * importance[rows[j], i]
                weights[j, i] = weight
                owners[j, i] = document
                total += share * (weight * weight if norm == L2_BAG_NORM else abs(weight))
                first = i * width if side_by_side else 0
                if append_weight:
                    vector[len(vector) - n_hashes + i] += weight
                if weight == zero:  # columns that no training row had: their pool rows stay unread
                    continue
                part = pool[slots[j, i]]
                for column in range(0, whole, 4):  # four at a time become one instruction
                    at = first + column
                    sum_0 = vector[at] + weight * part[column]
                    sum_1 = vector[at + 1] + weight * part[column + 1]
                    sum_2 = vector[at + 2] + weight * part[column + 2]
                    sum_3 = vector[at + 3] + weight * part[column + 3]
                    vector[at], vector[at + 1], vector[at + 2], vector[at + 3] = sum_0, sum_1, sum_2, sum_3
                for column in range(whole, width):
                    vector[first + column] += weight * part[column]
        if norm == NO_BAG_NORM or total == zero:
            total = one
        elif norm == L2_BAG_NORM:
            total = np.sqrt(total)
        norms[document] = total
        for column in range(len(vector)):
            vector[column] /= total


class BagGroups(NamedTuple):
    """Which values share a row, for each table, as :func:`group_rows` tells.

    Parameters
    ----------
    pool : tuple of ndarray
        Of the flattened slots.
    importance : tuple of ndarray
        Of the importance rows.
    """

    pool: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]
    importance: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


def group_bags(rows: NDArray[np.int32], slots: NDArray[np.int32], n_rows: int, n_slots: int) -> BagGroups:
    """Bring together the values that share a row, for :func:`bag_gradients`.

    Parameters
    ----------
    rows, slots : ndarray of int32
        As :func:`locate_ids` gives them.
    n_rows, n_slots : int
        Sizes of the importance table and of the pool.

    Returns
    -------
    BagGroups
        Of both tables.
    """
    return BagGroups(group_rows(slots.reshape(slots.size), n_slots), group_rows(rows, n_rows))


def embed_bags(
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[Any],
    pool: NDArray[Any],
    importance: NDArray[Any] | None,
    layout: BagLayout,
) -> Bags:
    """Add up the hash embeddings of each document's ids.

    Parameters
    ----------
    rows : ndarray of int32 of shape (n_values,)
        Importance rows of the ids of all documents, end to end.
    slots : ndarray of int32 of shape (n_values, k)
        Their pool rows.
    offsets : ndarray of int64 of shape (n_documents + 1,)
        Where each document begins, and the end.
    counts : ndarray of float of shape (n_values,)
        Weight of each id, of the tables' dtype.
    pool : ndarray of float of shape (n_buckets, d)
        E.
    importance : ndarray of float of shape (n_embeddings, k) or None
        P; None for ``STANDARD``.
    layout : BagLayout
        What to do with them.

    Returns
    -------
    Bags
        Vectors of the documents.
    """
    standard = importance is None
    n_hashes, width = slots.shape[1], pool.shape[1]
    width = width * n_hashes if layout.side_by_side else width
    append_weight = layout.append_weight and not standard
    n_documents = len(offsets) - 1
    bags = Bags(
        documents=np.zeros((n_documents, width + n_hashes * append_weight), dtype=pool.dtype),
        norms=np.empty(n_documents, dtype=pool.dtype),
        owners=np.empty(slots.shape, dtype=np.int32),
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
        bags.owners,
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
        prefetch_row(pool, rows[min(place + _AHEAD, len(rows) - 1)])
        vector, total = pool[rows[place]], values[place]
        for at in range(starts[place], starts[place + 1]):
            value = order[at]
            first = (value % n_hashes) * width if n_hashes > 1 else 0
            gradient = gradients[owners[value]]
            weight = weights[value]
            product = gradients.dtype.type(0)
            for column in range(width):
                total[column] += weight * gradient[first + column]
                product += vector[column] * gradient[first + column]
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
            j = order[at]
            document = owners[j, 0]
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
    gradients: NDArray[Any],
    bags: Bags,
    counts: NDArray[Any],
    pool: NDArray[Any],
    importance: NDArray[Any] | None,
    layout: BagLayout,
    groups: BagGroups,
) -> tuple[RowGradients, RowGradients | None]:
    """Differentiate :func:`embed_bags` with respect to both tables.

    Each row that the documents use is summed up once, in the order of its occurrences, so the same documents give the
    same bits.

    Parameters
    ----------
    gradients : ndarray of float of shape (n_documents, output_dim)
        Of the documents' vectors.
    bags : Bags
        What :func:`embed_bags` gave.
    counts : ndarray of float of shape (n_values,)
        Weight of each id.
    pool, importance : ndarray of float
        The tables, unchanged since.
    layout : BagLayout
        As there.
    groups : BagGroups
        What :func:`group_bags` gave.

    Returns
    -------
    pool : RowGradients
        Of the pool.
    importance : RowGradients or None
        Of the importance; None for ``STANDARD``.
    """
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
        bags.owners.reshape(bags.owners.size),
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
        bags.owners,
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
