"""A linear model over hash embeddings: a few arrays, and the scores of rows in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined
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
    prior: NDArray[np.float64] | None = None  # (n_classes,): see :class:`BagScorer`
    half: float = -1.0
    base: float = 0.0

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
            prior=self.bias.astype(np.float64) if self.prior is None else self.prior,
            half=float(self.half),
            base=float(self.base),
        )


_INDEX = np.uint64  # a signed index costs a test for negative ones
_AHEAD = 32  # values between the prefetch of a row and its use
_LARGEST = np.float64(np.finfo(np.float32).max)
_ROUNDING = 1e-9  # relative, of the lengths of what all training rows have
_BLOCK_VALUES = 4096  # of the documents that are computed together: their values stay in the first caches


class BagScorer(NamedTuple):
    """The tables of a bag, and the linear layer above it, as the compiled pass reads them."""

    pool: NDArray[np.float32]  # (n_buckets, d)
    importance: NDArray[np.float32] | None  # (n_embeddings, k); None for ``STANDARD``
    constants: NDArray[np.uint64]  # (k + 1, 3): of the hash functions
    layout: BagLayout
    weight: NDArray[np.float64]  # (output_dim, n_classes): of the layer, transposed
    bias: NDArray[np.float64]  # (n_classes,)
    # Scores s of a row of length e become g s + (1 - g) prior, g = e^3 / (e^3 + half^3), unless half is negative.
    prior: NDArray[np.float64]  # (n_classes,)
    half: float
    base: float  # of the squares of lengths, what all training rows have


class _Values(NamedTuple):
    """The values of the documents: a CSR matrix."""

    indices: NDArray[Any]  # (n_values,)
    indptr: NDArray[np.int64]  # (n_documents + 1,)
    counts: NDArray[np.float32]  # (n_values,)


class _Bags(NamedTuple):
    """Memory for the concatenated bags of a block of documents, and for one document."""

    # A kernel that allocates it takes longer to compile.
    rows: NDArray[np.int32]  # (capacity,): of the importance table
    keys: NDArray[np.uint32]  # (capacity,)
    slots: NDArray[np.int32]  # (capacity * k,): rows of the pool
    weights: NDArray[np.float32]  # (capacity * k,)
    ends: NDArray[np.int64]  # (n_documents,): end of each bag
    vector: NDArray[np.float32]  # (output_dim,)
    scores: NDArray[np.float64]  # (n_classes,)

    @classmethod
    def empty(cls, model: BagScorer, indptr: NDArray[np.int64], n_hashes: int) -> Self:
        """Allocate memory for blocks of all documents, or of ``_BLOCK_VALUES`` if they have more."""
        capacity = int(indptr[-1] - indptr[0])
        if capacity > _BLOCK_VALUES:
            capacity = max(_BLOCK_VALUES, int(np.diff(indptr).max()))  # of the longest document
        return cls(
            rows=np.empty(capacity, dtype=np.int32),
            keys=np.empty(capacity, dtype=np.uint32),
            slots=np.empty(capacity * n_hashes, dtype=np.int32),
            weights=np.empty(capacity * n_hashes, dtype=np.float32),
            ends=np.empty(min(len(indptr) - 1, capacity + 1), dtype=np.int64),
            vector=np.empty(len(model.weight), dtype=np.float32),
            scores=np.empty(len(model.bias), dtype=np.float64),
        )


def score_bags(
    model: BagScorer,
    indices: NDArray[Any],  # (n_values,): columns of all documents, below 2**32
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    counts: NDArray[np.float32],  # (n_values,)
    documents: slice,
    scores: NDArray[np.float64],  # (n_documents, n_classes), or (0, n_classes) if they are not needed
    labels: NDArray[np.int64],  # (n_documents,)
    lengths: NDArray[np.float64],  # (n_documents,)
) -> bool:
    """Write scores, best labels and lengths of some documents; return whether all scores are finite.

    The length of a document is the root of the sum of the squares of its weights, count times importance weight, of
    known columns, divided by the number of hashes, less ``base``.
    """
    n_hashes = 1 if model.importance is None else len(model.constants) - 1
    bags = _Bags.empty(model, indptr[documents.start : documents.stop + 1], n_hashes)
    if model.importance is None:
        model = model._replace(importance=model.pool)
    values = _Values(indices, indptr, counts)
    return _score(documents.start, documents.stop, n_hashes, values, model, bags, scores, labels, lengths)


# Its parts, called once each, are inlined: as functions of their own they would be compiled twice.
@compiled
def _score(
    first: Number,
    last: Number,
    n_hashes: Number,
    values: _Values,
    model: BagScorer,
    bags: _Bags,
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    lengths: NDArray[np.float64],
) -> bool:
    indptr, ends, row_scores, one = values.indptr, bags.ends, bags.scores, _INDEX(1)
    capacity, finite = len(bags.rows), True
    begin, last_document = _INDEX(first), _INDEX(last)
    while begin < last_document:
        stop = begin + one
        limit = indptr[begin] + capacity
        while stop < last_document and stop - begin < _INDEX(len(ends)) and indptr[stop + one] <= limit:
            stop += one
        _find(begin, stop, n_hashes, values, model, bags)
        start = 0
        for document in range(begin, stop):
            end = ends[document - begin]
            _embed(start, end, n_hashes, model, bags)
            lengths[document] = _length(start, end, n_hashes, model, bags)
            finite &= _apply_layer(bags.vector, model.weight, model.bias, row_scores)
            labels[document] = _calibrate(lengths[document], model, row_scores)
            if len(scores) > 0:
                for label in range(_INDEX(len(row_scores))):  # an assignment of arrays takes longer to compile
                    scores[document, label] = row_scores[label]
            start = end
        begin = stop
    return finite


@inlined
def _find(
    first: Number,
    stop: Number,
    n_hashes: Number,
    values: _Values,
    model: BagScorer,
    bags: _Bags,
) -> None:
    """Compute the weights and pool rows of values with a nonzero weight; of all values for ``STANDARD``."""
    indices, indptr, counts = values.indices, values.indptr, values.counts
    rows, keys, slots, weights, ends = bags.rows, bags.keys, bags.slots, bags.weights, bags.ends
    importance: Any = model.importance
    constants, variant = model.constants, model.layout.variant
    one, width, begin = _INDEX(1), _INDEX(n_hashes), _INDEX(indptr[first])
    n_values = _INDEX(indptr[stop]) - begin
    n_rows = _INDEX(len(importance))
    a, b = constants[0, 0], constants[0, 1]
    for j in range(n_values):
        key = indices[begin + j]
        mixed = mix_id(key)
        row = row_of(key, mixed, a, b, n_rows)
        rows[j] = row
        keys[j] = np.uint32(mix_id(row) if variant == PAPER else mixed)
    if variant == STANDARD:
        for j in range(n_values):
            slots[j] = rows[j]
            weights[j] = counts[begin + j]
        for document in range(first, stop):
            ends[document - first] = _INDEX(indptr[document + one]) - begin
    else:
        _weight(first, stop, width, values, model, bags)


@inlined
def _weight(
    first: Number,
    stop: Number,
    width: Number,
    values: _Values,
    model: BagScorer,
    bags: _Bags,
) -> None:
    """Compute the weights of hashed values, and the pool rows of those that are not zero."""
    indptr, counts, constants = values.indptr, values.counts, model.constants
    rows, keys, slots, weights = bags.rows, bags.keys, bags.slots, bags.weights
    importance: Any = model.importance
    n_slots, one, begin = _INDEX(len(model.pool)), _INDEX(1), _INDEX(indptr[first])
    last = _INDEX(indptr[stop]) - begin - one
    kept: Number = _INDEX(0)
    for document in range(first, stop):
        for at in range(_INDEX(indptr[document]), _INDEX(indptr[document + one])):
            value_index: Number = at - begin
            ahead = value_index + _INDEX(_AHEAD)
            prefetch_row(importance, rows[ahead if ahead < last else last])
            row = _INDEX(rows[value_index])
            # Without a branch, which could not be predicted: entries of zero weight are overwritten.
            keys[kept] = keys[value_index]
            is_used: Number = False
            for i in range(width):
                value = counts[at] * importance[row, i]
                weights[kept * width + i] = value
                is_used |= value != 0
            kept += _INDEX(is_used)
        bags.ends[document - first] = kept
    for i in range(width):
        a, b = constants[i + one, 0], constants[i + one, 1]
        for j in range(kept):
            slots[j * width + i] = slot_of(np.uint64(keys[j]), a, b, n_slots)


@inlined
def _embed(start: Number, stop: Number, n_hashes: Number, model: BagScorer, bags: _Bags) -> None:
    """Compute the vector of a document, with the sums of the forward pass in training, in the same order."""
    pool, slots, weights, vector = model.pool, bags.slots, bags.weights, bags.vector
    concat, norm = model.layout.concat, model.layout.norm
    append_weight = model.layout.append_weight and model.layout.variant != STANDARD
    one_column, k, width, length = _INDEX(1), _INDEX(n_hashes), _INDEX(pool.shape[1]), _INDEX(len(vector))
    whole = width - width % _INDEX(4)
    zero, one = np.float32(0), np.float32(1)
    step, last = k if concat else one_column, _INDEX(len(slots) - 1)
    begin, end = _INDEX(start) * k, _INDEX(stop) * k
    total = sum_0 = sum_1 = sum_2 = sum_3 = zero
    # Together with the norm: the sums do not wait for each other.
    has_first_columns = n_hashes == 1 and whole > 0
    for i in range(k):
        appended = zero
        for at in range(begin + i, end, k):
            ahead = at + _INDEX(_AHEAD)
            prefetch_row(pool, slots[ahead if ahead < last else last])
            weight = weights[at]
            appended += weight
            total += weight * weight if norm == L2_BAG_NORM else abs(weight)
            if has_first_columns:
                slot = _INDEX(slots[at])
                sum_0 += weight * pool[slot, 0]
                sum_1 += weight * pool[slot, 1]
                sum_2 += weight * pool[slot, 2]
                sum_3 += weight * pool[slot, 3]
        if append_weight:
            vector[length - k + i] = appended
    total *= np.float32(1 / n_hashes)
    if norm == L2_BAG_NORM:
        total = np.sqrt(total)
    if norm == NO_BAG_NORM or total == zero:
        total = one
    if append_weight:
        for column in range(length - k, length):
            vector[column] /= total
    if has_first_columns:
        vector[0], vector[1], vector[2], vector[3] = sum_0 / total, sum_1 / total, sum_2 / total, sum_3 / total
    for i in range(step):
        first = i * width
        for column in range(_INDEX(4) if has_first_columns else _INDEX(0), whole, _INDEX(4)):
            sum_0 = sum_1 = sum_2 = sum_3 = zero  # four at a time are one instruction
            for at in range(begin + i, end, step):
                weight, slot = weights[at], _INDEX(slots[at])
                sum_0 += weight * pool[slot, column]
                sum_1 += weight * pool[slot, column + one_column]
                sum_2 += weight * pool[slot, column + _INDEX(2)]
                sum_3 += weight * pool[slot, column + _INDEX(3)]
            vector[first + column] = sum_0 / total
            vector[first + column + one_column] = sum_1 / total
            vector[first + column + _INDEX(2)] = sum_2 / total
            vector[first + column + _INDEX(3)] = sum_3 / total
        for column in range(whole, width):
            sum_0 = zero
            for at in range(begin + i, end, step):
                sum_0 += weights[at] * pool[_INDEX(slots[at]), column]
            vector[first + column] = sum_0 / total


@inlined
def _length(start: Number, stop: Number, n_hashes: Number, model: BagScorer, bags: _Bags) -> Number:
    """Compute the length of a document."""
    pool, slots, weights, total = model.pool, bags.slots, bags.weights, 0.0
    n_columns = min(_INDEX(pool.shape[1]), _INDEX(4))  # a trained row has no zeros there
    append_weight = model.layout.append_weight and model.layout.variant != STANDARD
    for at in range(_INDEX(start) * _INDEX(n_hashes), _INDEX(stop) * _INDEX(n_hashes)):
        # Unknown values may share a row of the importance table with known ones, but hardly one of the pool as well.
        is_known: Number = append_weight
        for column in range(n_columns):
            is_known |= pool[_INDEX(slots[at]), column] != 0
        total += np.float64(weights[at]) * np.float64(weights[at]) if is_known else 0.0
    total = total / n_hashes - model.base
    return np.sqrt(total) if total > _ROUNDING * model.base else 0.0


@inlined
def _apply_layer(
    vector: NDArray[np.float32], weight: NDArray[np.float64], bias: NDArray[np.float64], scores: NDArray[np.float64]
) -> Number:
    """Compute the scores of a document, rounded to float32; return whether all are finite."""
    n_classes = _INDEX(len(bias))
    for label in range(n_classes):
        scores[label] = bias[label]
    for column in range(_INDEX(len(vector))):  # the loop over classes is vectorized, so no sum is split up
        value = np.float64(vector[column])
        for label in range(n_classes):
            scores[label] += value * weight[column, label]
    finite: Number = True
    for label in range(n_classes):
        score = np.float64(np.float32(scores[label]))
        scores[label] = score
        finite &= abs(score) <= _LARGEST
    return finite


@inlined
def _calibrate(length: Number, model: BagScorer, scores: NDArray[np.float64]) -> Number:
    """Move the scores of a document towards those of the class shares; return the first largest."""
    best: Number = _INDEX(0)
    share = 1.0
    if model.half >= 0:
        cube, half = length * length * length, model.half * model.half * model.half
        share = cube / (cube + half) if length > 0 else 0.0
    for label in range(_INDEX(len(scores))):
        if share < 1:
            scores[label] = share * scores[label] + (1 - share) * model.prior[label]
        best = label if scores[label] > scores[best] else best
    return best


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
