"""A linear model over hash embeddings: a few arrays, and the scores of rows in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._intrinsics import prefetch_row
from sklearn_hashnlp.kernels.embeddings._bags import L2_BAG_NORM, NO_BAG_NORM, BagLayout
from sklearn_hashnlp.kernels.embeddings._hash_ids import PAPER, STANDARD, mix_id, row_of, slot_of
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table


class LinearModel(NamedTuple):
    """The tables of hash embeddings, and the linear layer above the sum of the embeddings."""

    spec: TableSpec
    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``variant="standard"``
    weight: NDArray[np.float32]  # (n_classes, output_dim)
    bias: NDArray[np.float32]  # (n_classes,)

    @classmethod
    def zeros(cls, spec: TableSpec, n_classes: int, importance_init: float = 0.0) -> Self:
        """Return a model with zero weights; the memory of its tables is committed on first write."""
        importance = lazy_table(spec.importance_shape) if spec.has_importance else None
        if importance is not None and importance_init:
            importance[:] = importance_init
        weight = np.zeros((n_classes, spec.output_dim), dtype=np.float32)
        return cls(spec, lazy_table(spec.pool_shape), importance, weight, np.zeros(n_classes, dtype=np.float32))

    @property
    def constants(self) -> NDArray[np.uint64]:
        """The constants of the hash functions, shape (k + 1, 3)."""
        return self.spec.constant_array

    @property
    def n_parameters(self) -> int:
        """The number of all weights."""
        return sum(array.size for array in (self.pool, self.importance, self.weight, self.bias) if array is not None)

    @property
    def known(self) -> NDArray[np.float32]:
        """The table by which a column is known: its row is not zero."""
        return self.pool if self.importance is None else self.importance

    def scorer(self) -> BagScorer:
        """Return the arrays that the compiled pass reads; the tables share memory."""
        return BagScorer(
            pool=self.pool,
            importance=self.importance,
            constants=self.constants,
            layout=self.spec.layout,
            weight=np.ascontiguousarray(self.weight.T, dtype=np.float64),
            bias=self.bias.astype(np.float64),
        )


_INDEX = np.uint64  # a signed index costs a test for negative ones
_AHEAD = 32  # values between the prefetch of a row and its use
_BLOCK_VALUES = 4096  # of the documents that are computed together: their values stay in the first caches


class BagScorer(NamedTuple):
    """The tables of a bag, and the linear layer above it, as the compiled pass reads them."""

    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``STANDARD``
    constants: NDArray[np.uint64]  # (k + 1, 3): of the hash functions
    layout: BagLayout
    weight: NDArray[np.float64]  # (output_dim, n_classes): of the layer, transposed
    bias: NDArray[np.float64]  # (n_classes,)


class _Values(NamedTuple):
    """The values of the documents: a CSR matrix."""

    indices: NDArray[Any]  # (n_values,)
    indptr: NDArray[Any]  # (n_documents + 1,)
    counts: NDArray[np.float32]  # (n_values,)


class _Bags(NamedTuple):
    """The concatenated bags of a block of documents."""

    slots: NDArray[np.int32]  # (capacity, k): rows of the pool
    weights: NDArray[np.float32]  # (capacity, k)
    ends: NDArray[np.int64]  # (n_documents,): end of each bag


def score_bags(
    model: BagScorer,
    indices: NDArray[Any],  # (n_values,): columns of all documents, below 2**32
    indptr: NDArray[Any],  # (n_documents + 1,)
    counts: NDArray[np.float32],  # (n_values,)
    documents: slice,
    scores: NDArray[np.float64],  # (n_documents, n_classes), or (0, n_classes) if they are not needed
    labels: NDArray[np.int64],  # (n_documents,)
) -> bool:
    """Write scores and the index of the largest one of each of some documents; return whether all are finite."""
    if model.importance is None:
        model = model._replace(importance=model.pool)
    return _score(documents.start, documents.stop, indices, indptr, counts, model, scores, labels)


@compiled
def _score(
    first: Number,
    last: Number,
    indices: NDArray[Any],
    indptr: NDArray[Any],
    counts: NDArray[np.float32],
    model: BagScorer,
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> bool:
    pool, constants, layout, weight, bias = model.pool, model.constants, model.layout, model.weight, model.bias
    variant, concat, append_weight, norm = layout
    values = _Values(indices, indptr, counts)
    append_weight = append_weight and variant != STANDARD
    n_hashes = 1 if variant == STANDARD else len(constants) - 1
    longest = 0
    for document in range(first, last):
        longest = max(longest, indptr[document + 1] - indptr[document])
    capacity = max(longest, min(_BLOCK_VALUES, indptr[last] - indptr[first]))
    slots = np.empty((capacity, n_hashes), dtype=np.int32)
    weights = np.empty((capacity, n_hashes), dtype=np.float32)
    ends = np.empty(min(last - first, capacity + 1), dtype=np.int64)
    bags = _Bags(slots, weights, ends)
    flat_slots, flat_weights = slots.reshape(slots.size), weights.reshape(weights.size)
    vector = np.empty(weight.shape[0], dtype=np.float32)
    row_scores = np.empty(len(bias), dtype=np.float64)
    finite = True
    while first < last:
        stop = first + 1
        while stop < last and stop - first < len(ends) and indptr[stop + 1] - indptr[first] <= capacity:
            stop += 1
        if variant == STANDARD:
            _find_standard(first, stop, values, model, bags)
        else:
            _find_weighted(first, stop, values, model, bags)
        start = 0
        for document in range(first, stop):
            end = ends[document - first]
            _embed(start, end, flat_slots, flat_weights, pool, n_hashes, concat, append_weight, norm, vector)
            best, is_finite = _apply_layer(vector, weight, bias, row_scores)
            labels[document] = best
            finite &= is_finite
            if len(scores) > 0:
                for label in range(len(row_scores)):  # an assignment of arrays takes longer to compile
                    scores[document, label] = row_scores[label]
            start = end
        first = stop
    return finite


@inner
def _find_weighted(first: Number, stop: Number, values: _Values, model: BagScorer, bags: _Bags) -> None:
    """Compute the weights and pool rows of values with a nonzero weight."""
    indices, indptr, counts = values
    slots, weights, ends = bags
    importance: Any = model.importance
    constants, variant, n_slots = model.constants, model.layout.variant, len(model.pool)
    n_hashes = weights.shape[1]
    begin, n_values = _INDEX(indptr[first]), _INDEX(indptr[stop] - indptr[first])
    n_rows = np.uint64(len(importance))
    rows = np.empty(n_values, dtype=np.int32)
    keys = np.empty(n_values, dtype=np.uint32)
    a, b = constants[0, 0], constants[0, 1]
    for j in range(n_values):
        key = indices[begin + j]
        mixed = mix_id(key)
        row = row_of(key, mixed, a, b, n_rows)
        rows[j] = row
        keys[j] = np.uint32(mix_id(row) if variant == PAPER else mixed)
    kept: Number = _INDEX(0)
    last = n_values - _INDEX(1)
    for document in range(first, stop):
        for at in range(_INDEX(indptr[document]), _INDEX(indptr[document + 1])):
            value_index: Number = at - begin
            prefetch_row(importance, _INDEX(rows[min(value_index + _INDEX(_AHEAD), last)]))
            row = _INDEX(rows[value_index])
            # Without a branch, which could not be predicted: entries of zero weight are overwritten.
            keys[kept] = keys[value_index]
            if n_hashes == 1:
                value = counts[at] * importance[row, _INDEX(0)]
                weights[kept, _INDEX(0)] = value
                kept += _INDEX(value != 0)
                continue
            is_used: Number = False
            for i in range(n_hashes):
                value = counts[at] * importance[row, _INDEX(i)]
                weights[kept, _INDEX(i)] = value
                is_used |= value != 0
            kept += _INDEX(is_used)
        ends[document - first] = kept
    for i in range(n_hashes):
        a, b = constants[i + 1, 0], constants[i + 1, 1]
        for j in range(kept):
            slots[j, _INDEX(i)] = slot_of(np.uint64(keys[j]), a, b, np.uint64(n_slots))


@inner
def _find_standard(first: Number, stop: Number, values: _Values, model: BagScorer, bags: _Bags) -> None:
    """Compute the rows of the only table; the weights are the counts."""
    indices, indptr, counts = values
    slots, weights, ends = bags
    begin, a, b, n_rows = indptr[first], model.constants[0, 0], model.constants[0, 1], np.uint64(len(model.pool))
    for at in range(begin, indptr[stop]):
        key = indices[at]
        slots[at - begin, 0] = row_of(key, mix_id(key), a, b, n_rows)
        weights[at - begin, 0] = counts[at]
    for document in range(first, stop):
        ends[document - first] = indptr[document + 1] - begin


@compiled
def _embed(
    start: Number,
    stop: Number,
    slots: NDArray[np.int32],  # flattened, as are the weights
    weights: NDArray[np.float32],
    pool: NDArray[np.float32],
    n_hashes: Number,
    concat: bool,
    append_weight: bool,
    norm: Number,
    vector: NDArray[np.float32],
) -> None:
    """Compute the vector of a document, with the sums of the forward pass in training, in the same order."""
    width = pool.shape[1]
    whole = width - width % 4
    zero, one = np.float32(0), np.float32(1)
    step = n_hashes if concat else 1
    start, stop = start * n_hashes, stop * n_hashes
    total = sum_0 = sum_1 = sum_2 = sum_3 = zero
    # Together with the norm: the sums do not wait for each other.
    first_columns = 4 if n_hashes == 1 and whole > 0 else 0
    for i in range(n_hashes):
        appended = zero
        for at in range(start + i, stop, n_hashes):
            prefetch_row(pool, _INDEX(slots[_INDEX(min(at + _AHEAD, len(slots) - 1))]))
            weight = weights[_INDEX(at)]
            appended += weight
            total += weight * weight if norm == L2_BAG_NORM else abs(weight)
            if first_columns:
                slot = _INDEX(slots[_INDEX(at)])
                sum_0 += weight * pool[slot, _INDEX(0)]
                sum_1 += weight * pool[slot, _INDEX(1)]
                sum_2 += weight * pool[slot, _INDEX(2)]
                sum_3 += weight * pool[slot, _INDEX(3)]
        if append_weight:
            vector[len(vector) - n_hashes + i] = appended
    total *= np.float32(1 / n_hashes)
    if norm == L2_BAG_NORM:
        total = np.sqrt(total)
    if norm == NO_BAG_NORM or total == zero:
        total = one
    for column in range(len(vector) - n_hashes * append_weight, len(vector)):
        vector[column] /= total
    if first_columns:
        vector[0], vector[1], vector[2], vector[3] = sum_0 / total, sum_1 / total, sum_2 / total, sum_3 / total
    for i in range(step):
        for column in range(first_columns, whole, 4):  # four at a time are one instruction
            sum_0 = sum_1 = sum_2 = sum_3 = zero
            for at in range(start + i, stop, step):
                weight, slot = weights[_INDEX(at)], _INDEX(slots[_INDEX(at)])
                sum_0 += weight * pool[slot, _INDEX(column)]
                sum_1 += weight * pool[slot, _INDEX(column + 1)]
                sum_2 += weight * pool[slot, _INDEX(column + 2)]
                sum_3 += weight * pool[slot, _INDEX(column + 3)]
            at = i * width + column
            vector[at], vector[at + 1] = sum_0 / total, sum_1 / total
            vector[at + 2], vector[at + 3] = sum_2 / total, sum_3 / total
        for column in range(whole, width):
            sum_0 = zero
            for at in range(start + i, stop, step):
                sum_0 += weights[_INDEX(at)] * pool[_INDEX(slots[_INDEX(at)]), _INDEX(column)]
            vector[i * width + column] = sum_0 / total


@inner
def _apply_layer(
    vector: NDArray[np.float32], weight: NDArray[np.float64], bias: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[Number, bool]:
    """Compute the scores of a document, rounded to float32; return the first largest, and whether all are finite."""
    n_classes = len(bias)
    for label in range(n_classes):
        scores[label] = bias[label]
    for column in range(len(vector)):  # the loop over classes is vectorized, so no sum is split up
        value = np.float64(vector[column])
        for label in range(n_classes):
            scores[label] += value * weight[column, label]
    best = 0
    finite: Number = True
    for label in range(n_classes):
        score = np.float64(np.float32(scores[label]))
        scores[label] = score
        finite &= abs(score) <= np.finfo(np.float32).max
        best = label if score > scores[best] else best
    return best, finite


class RowFacts(NamedTuple):
    """The structure and the magnitudes of a CSR matrix of float32, see :func:`inspect_rows`."""

    # Whether offsets rise from 0 to at most the number of values, and columns are in range, sorted, without twins.
    is_valid: bool
    smallest: float  # of all values; NaN if one is NaN
    largest: float


@compiled
def inspect_rows(indices: NDArray[Any], indptr: NDArray[Any], data: NDArray[np.float32], n_columns: int) -> RowFacts:
    """Check the structure of a CSR matrix, and find the smallest and the largest magnitude of its values."""
    smallest: Number = np.float32(np.inf)
    largest: Number = np.float32(0)
    previous = indptr[0]
    valid: Number = previous == 0
    for row in range(len(indptr) - 1):  # first, as a wrong offset would read beyond the arrays
        valid &= indptr[row + 1] >= previous
        previous = indptr[row + 1]
    if not valid or previous > len(indices) or previous > len(data):
        return RowFacts(False, smallest, largest)
    for row in range(len(indptr) - 1):
        start, stop = _INDEX(indptr[row]), _INDEX(indptr[row + 1])
        if start == stop:
            continue
        valid &= (indices[start] >= 0) & (indices[stop - _INDEX(1)] < n_columns)
        for at in range(start + _INDEX(1), stop):
            valid &= indices[at] > indices[at - _INDEX(1)]
    not_a_number: Number = False
    for at in range(_INDEX(indptr[len(indptr) - 1])):
        value = abs(data[at])
        smallest = value if value < smallest else smallest
        largest = value if value > largest else largest
        not_a_number |= value != value
    smallest = np.float32(np.nan) if not_a_number else smallest
    return RowFacts(valid, smallest, largest)
