"""Hashes of n-grams counted into the rows of a CSR matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner, inner_vectorized
from sklearn_hashnlp.kernels._ragged import Ragged

NO_NORM, L1, L2 = 0, 1, 2
"""The norms that rows are divided by."""

_MAX_INSERTION_SORT = 12  # hashes of a row
_MAX_BUCKET_SORT = 4096
_N_EXCHANGES = 2
_DIGIT_BITS = 11
_MAX_FLOAT32_SQUARED = 2**12  # the square of a larger integer is rounded in float32, as in scikit-learn


Allocate: TypeAlias = Callable[[int], tuple[NDArray[np.int32], NDArray[Any]]]
"""Returns arrays for a number of columns and values."""


class Rows(NamedTuple):
    """Rows of a CSR matrix, with scipy's names of the arrays."""

    indices: NDArray[np.int32]
    data: NDArray[Any]
    indptr: NDArray[np.int64]


def count_hashes(
    hashes: Ragged,
    *,
    n_features: int,
    alternate_sign: bool = False,
    binary: bool = False,
    norm: int = NO_NORM,
    damped: bool = False,
    dtype: type[np.floating[Any]] = np.float64,
    allocate: Allocate | None = None,
) -> Rows:
    """Count how often each column occurs in each row; the column of hash h is ``abs(h) % n_features``."""
    # A column with canceled signs stays in the matrix as 0, as in scikit-learn.
    size = len(hashes.values)
    indices, data = (
        (np.empty(size, dtype=np.int32), np.empty(size, dtype=dtype)) if allocate is None else allocate(size)
    )
    values = _logarithms(damped)
    indptr = _count(hashes.values, hashes.offsets, n_features, alternate_sign, binary, norm, values, indices, data)
    return Rows(indices[: indptr[-1]], data[: indptr[-1]], indptr)


@cache
def _logarithms(damped: bool) -> NDArray[np.float64]:
    """Return the values of damped counts of a row of at most ``_MAX_BUCKET_SORT`` keys, or an empty array."""
    # numpy's logarithm differs in the last bits between processors; the standard library's does not.
    return np.array([0.0, *(1 + math.log(count) for count in range(1, _MAX_BUCKET_SORT + 1))] if damped else [])


@compiled
def _count(
    hashes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    n_features: Number,
    alternate_sign: bool,
    binary: bool,
    norm: Number,
    logarithms: NDArray[np.float64],  # (more than _MAX_BUCKET_SORT,): values of damped counts, or (0,)
    indices: NDArray[np.int32],
    data: NDArray[Any],
) -> NDArray[np.int64]:
    n_rows = len(offsets) - 1
    largest_row = 0
    for row in range(n_rows):
        largest_row = max(largest_row, offsets[row + 1] - offsets[row])
    keys = np.empty(largest_row + 1, dtype=np.uint32)
    spare = np.empty(largest_row + 1, dtype=np.uint32)
    sums = np.empty(largest_row + 1, dtype=np.int32)
    buckets = np.empty(2 * _MAX_BUCKET_SORT, dtype=np.uint32)
    key_bits = 1
    while (2 * n_features - 1) >> key_bits:
        key_bits += 1
    indptr = np.empty(n_rows + 1, dtype=np.int64)
    end = 0
    for row in range(n_rows):
        indptr[row] = end
        size = offsets[row + 1] - offsets[row]
        _make_keys(hashes, offsets[row], size, n_features, alternate_sign, keys)
        if size <= _MAX_BUCKET_SORT:
            sorted_keys = _sort_by_buckets(keys, spare, size, key_bits, buckets)
        else:
            sorted_keys = _sort_by_digits(keys, spare, size)
        n_entries = _sum_duplicates(sorted_keys, size, sums, indices, end)
        if binary:
            _set_ones(n_entries, norm, data, end)
        elif size <= _MAX_BUCKET_SORT:
            _set_counts(sums, n_entries, norm, data, end)
        else:
            _set_large_counts(sums, n_entries, norm, data, end)
        if len(logarithms) > 0:
            _damp(logarithms, n_entries, data, end)
        end += n_entries
    indptr[n_rows] = end
    return indptr


@inner
def _make_keys(
    hashes: NDArray[np.int32],
    first: Number,
    size: Number,
    n_features: Number,
    alternate_sign: bool,
    keys: NDArray[np.uint32],
) -> None:
    """Compute the sort key of each hash: 2 * column + (1 for a negative sign)."""
    sign_bit = np.uint32(alternate_sign)
    begin = np.uint64(first)  # unsigned: signed indices would need a test for negative values
    if n_features & (n_features - 1) == 0:
        mask = np.uint32(n_features - 1)
        for i in range(np.uint64(size)):
            hash_ = hashes[begin + i]
            column = np.uint32(abs(hash_)) & mask
            keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hash_) >> np.uint32(31)) & sign_bit)
        return
    divisor = np.float64(n_features)
    reciprocal = 1.0 / divisor
    for i in range(np.uint64(size)):
        hash_ = hashes[begin + i]
        # A division would take longer. All numbers here are exact in float64 but the reciprocal, so that an integer
        # quotient may come out just below itself: the remainder is then the divisor.
        magnitude = abs(np.float64(hash_))
        remainder = magnitude - np.floor(magnitude * reciprocal) * divisor
        remainder = remainder - divisor if remainder >= divisor else remainder
        column = np.uint32(np.int32(remainder))
        keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hash_) >> np.uint32(31)) & sign_bit)


@inner
def _sort_by_buckets(
    keys: NDArray[np.uint32],  # (more than size,)
    spare: NDArray[np.uint32],  # (more than size,)
    size: Number,
    key_bits: Number,
    buckets: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Sort by a bucket or two per key, then by exchanging neighbors: hashes are uniform, so few keys still move."""
    if size <= _MAX_INSERTION_SORT:
        _insert_in_order(keys, size)
        return keys
    bucket_bits = 4
    while (1 << bucket_bits) < size:
        bucket_bits += 1
    shift = np.uint32(max(key_bits - bucket_bits, 0))
    n_buckets = np.uint64(1) << np.uint64(min(bucket_bits, key_bits))
    n_keys = np.uint64(size)
    buckets[:n_buckets] = 0
    for i in range(n_keys):
        buckets[keys[i] >> shift] += np.uint32(1)
    start = np.uint32(0)
    for i in range(n_buckets):
        count = buckets[i]
        buckets[i] = start
        start += count
    for i in range(n_keys):
        bucket = keys[i] >> shift
        to = buckets[bucket]
        spare[to] = keys[i]
        buckets[bucket] = to + np.uint32(1)

    # Odd-even transposition sort: no branch, and vector instructions. Keys of a bucket with more distinct ones than it
    # has rounds are left to an insertion sort, which is fast where few keys move, but has a branch per key.
    spare[n_keys] = np.uint32(0xFFFFFFFF)
    for _ in range(_N_EXCHANGES):
        _exchange_neighbors(spare, np.uint64(0), np.uint64((size + 1) // 2))
        _exchange_neighbors(spare, np.uint64(1), np.uint64(size // 2))
    if not _is_sorted(spare, size):
        _insert_in_order(spare, size)
    return spare


@inner
def _exchange_neighbors(keys: NDArray[np.uint32], first: Number, n_pairs: Number) -> None:
    """Sort each pair of neighbors, the first of them at ``first`` (unsigned)."""
    for pair in range(n_pairs):
        i = first + np.uint64(2) * pair
        left, right = keys[i], keys[i + np.uint64(1)]
        keys[i] = min(left, right)
        keys[i + np.uint64(1)] = max(left, right)


@inner
def _is_sorted(keys: NDArray[np.uint32], size: Number) -> bool:
    n_descents = np.uint32(0)
    for i in range(np.uint64(max(size - 1, 0))):
        n_descents += np.uint32(keys[i] > keys[i + np.uint64(1)])
    return bool(n_descents == 0)


@inner
def _insert_in_order(keys: NDArray[np.uint32], size: Number) -> None:
    """Sort by insertion."""
    one = np.uint64(1)
    for i in range(one, np.uint64(size)):
        key = keys[i]
        j: Number = i
        while j >= one and keys[j - one] > key:
            keys[j] = keys[j - one]
            j -= one
        keys[j] = key


@inner
def _sort_by_digits(keys: NDArray[np.uint32], spare: NDArray[np.uint32], size: Number) -> NDArray[np.uint32]:
    """Radix sort by three digits of 11 bits, the lowest first: its time does not depend on the keys."""
    for shift in range(0, 3 * _DIGIT_BITS, _DIGIT_BITS):
        starts = np.zeros((1 << _DIGIT_BITS) + 1, dtype=np.uint64)
        for i in range(size):
            starts[((keys[i] >> shift) & ((1 << _DIGIT_BITS) - 1)) + 1] += np.uint64(1)
        for digit in range(1 << _DIGIT_BITS):
            starts[digit + 1] += starts[digit]
        for i in range(size):
            digit = (keys[i] >> shift) & ((1 << _DIGIT_BITS) - 1)
            spare[starts[digit]] = keys[i]
            starts[digit] += np.uint64(1)
        keys, spare = spare, keys
    return keys


@inner
def _sum_duplicates(
    keys: NDArray[np.uint32],
    size: Number,
    sums: NDArray[np.int32],  # (more than size,)
    indices: NDArray[np.int32],
    begin: Number,
) -> Number:
    """Write the distinct columns of a row, starting at ``begin``; return their number."""
    # Then sums[i] is the sum of the signs of the keys in the first i columns. There are no branches, as no processor
    # can predict whether a key repeats: each key overwrites the last entry or begins the next.
    n_entries = np.uint64(0)
    last = np.uint32(0xFFFFFFFF)
    total = np.int32(0)
    first = np.uint64(begin) - np.uint64(1)
    sums[0] = 0
    for i in range(np.uint64(size)):
        column = np.uint32(keys[i] >> np.uint32(1))
        n_entries += np.uint64(column != last)
        total += np.int32(1) - np.int32(2) * np.int32(keys[i] & np.uint32(1))
        indices[first + n_entries] = column
        sums[n_entries] = total
        last = column
    return np.int64(n_entries)


# Sums of integers are exact in any order: they equal scikit-learn's to the last bit.


@inner_vectorized
def _set_ones(n_entries: Number, norm: Number, data: NDArray[Any], begin: Number) -> None:
    value = 1.0
    if n_entries > 0 and norm != NO_NORM:
        value = 1.0 / (np.sqrt(float(n_entries)) if norm == L2 else float(n_entries))
    data[begin : begin + n_entries] = value


@inner_vectorized
def _set_counts(sums: NDArray[np.int32], n_entries: Number, norm: Number, data: NDArray[Any], begin: Number) -> None:
    """Set the values of a row of at most ``_MAX_BUCKET_SORT`` keys: all sums fit into 32 bits."""
    first, end, one = np.uint64(begin), np.uint64(n_entries), np.uint64(1)
    absolute = squares = np.int32(0)
    if norm != NO_NORM:
        for i in range(end):
            count = sums[i + one] - sums[i]
            absolute += abs(count)
            squares += count * count
    length = np.sqrt(float(squares)) if norm == L2 else float(absolute)
    length = length if length > 0 else 1.0
    for i in range(end):
        data[first + i] = (sums[i + one] - sums[i]) / length


@inner
def _set_large_counts(
    sums: NDArray[np.int32], n_entries: Number, norm: Number, data: NDArray[Any], begin: Number
) -> None:
    absolute = squares = largest = np.int64(0)
    for i in range(n_entries):
        count = np.int64(sums[i + 1]) - np.int64(sums[i])
        absolute += abs(count)
        squares += count * count
        largest = max(largest, abs(count))
        data[begin + i] = count
    length = float(absolute) if norm == L1 else float(squares)
    if norm == L2 and largest > _MAX_FLOAT32_SQUARED:
        length = 0.0
        for i in range(begin, begin + n_entries):
            length += data[i] * data[i]
    if norm != NO_NORM and length > 0:
        length = np.sqrt(length) if norm == L2 else length
        for i in range(begin, begin + n_entries):
            data[i] /= length


@inner
def _damp(logarithms: NDArray[np.float64], n_entries: Number, data: NDArray[Any], begin: Number) -> None:
    first = np.uint64(begin)
    for i in range(np.uint64(n_entries)):
        count = np.uint64(data[first + i])
        if count > np.uint64(1):
            is_listed = count < np.uint64(len(logarithms))
            data[first + i] = logarithms[count] if is_listed else 1 + math.log(float(count))
