"""Hashes of n-grams counted into the rows of a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._ragged import Ragged

NO_NORM, L1, L2 = 0, 1, 2
"""The norms that rows are divided by."""

_MAX_INSERTION_SORT = 12  # hashes of a row
_MAX_BUCKET_SORT = 4096
_DIGIT_BITS = 11
_MAX_FLOAT32_SQUARED = 2**12  # the square of a larger integer is rounded in float32, as in scikit-learn


Allocate: TypeAlias = Callable[[int], tuple[NDArray[np.int32], NDArray[Any]]]
"""Returns arrays for a number of columns and values."""


def count_hashes(
    hashes: Ragged,
    *,
    n_features: int,
    alternate_sign: bool = False,
    binary: bool = False,
    norm: int = NO_NORM,
    dtype: type[np.floating[Any]] = np.float64,
    allocate: Allocate | None = None,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Count how often each column occurs in each row; the column of hash h is ``abs(h) % n_features``."""
    # A column whose signs cancel stays in the matrix as 0, as in scikit-learn.
    size = len(hashes.values)
    indices, data = (
        (np.empty(size, dtype=np.int32), np.empty(size, dtype=dtype)) if allocate is None else allocate(size)
    )
    indptr = _count(hashes.values, hashes.offsets, n_features, alternate_sign, binary, norm, indices, data)
    return indices[: indptr[-1]], data[: indptr[-1]], indptr


@compiled
def _count(
    hashes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    n_features: Number,
    alternate_sign: bool,
    binary: bool,
    norm: Number,
    indices: NDArray[np.int32],
    data: NDArray[Any],
) -> NDArray[np.int64]:
    n_rows = len(offsets) - 1
    largest_row = 0
    for row in range(n_rows):
        largest_row = max(largest_row, offsets[row + 1] - offsets[row])
    keys = np.empty(largest_row, dtype=np.uint32)
    spare = np.empty(largest_row, dtype=np.uint32)
    sums = np.empty(largest_row, dtype=np.int64)
    buckets = np.empty(2 * _MAX_BUCKET_SORT, dtype=np.uint32)
    indptr = np.empty(n_rows + 1, dtype=np.int64)
    end = 0
    for row in range(n_rows):
        indptr[row] = end
        size = offsets[row + 1] - offsets[row]
        _make_keys(hashes, offsets[row], size, n_features, alternate_sign, keys)
        if size <= _MAX_BUCKET_SORT:
            sorted_keys = _sort_by_buckets(keys, spare, size, n_features, buckets)
        else:
            sorted_keys = _sort_by_digits(keys, spare, size)
        begin = end
        end = _sum_duplicates(sorted_keys, size, binary, norm, sums, indices, data, begin)
    indptr[n_rows] = end
    return indptr


@compiled
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
    if n_features & (n_features - 1) == 0:
        mask = np.uint32(n_features - 1)
        for i in range(size):
            hash_ = hashes[first + i]
            column = np.uint32(abs(hash_)) & mask
            keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hash_) >> np.uint32(31)) & sign_bit)
        return
    divisor = np.float64(n_features)
    reciprocal = 1.0 / divisor
    for i in range(size):
        hash_ = hashes[first + i]
        # A division would take longer. All numbers here are exact in float64 but the reciprocal, so that an integer
        # quotient may come out just below itself: the remainder is then the divisor.
        magnitude = abs(np.float64(hash_))
        remainder = magnitude - np.floor(magnitude * reciprocal) * divisor
        remainder = remainder - divisor if remainder >= divisor else remainder
        column = np.uint32(np.int32(remainder))
        keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hash_) >> np.uint32(31)) & sign_bit)


@compiled
def _sort_by_buckets(
    keys: NDArray[np.uint32],
    spare: NDArray[np.uint32],
    size: Number,
    n_features: Number,
    buckets: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Sort by two buckets per key, then by insertion: hashes are uniform, so few keys still move."""
    if size > _MAX_INSERTION_SORT:
        n_buckets = np.int64(32)
        while n_buckets < 2 * size and n_buckets < len(buckets):
            n_buckets *= 2
        scale = (np.uint64(n_buckets) << np.uint64(31)) // np.uint64(n_features)  # from key to bucket, times 2**32
        buckets[:n_buckets] = 0
        for i in range(size):
            buckets[(np.uint64(keys[i]) * scale) >> np.uint64(32)] += np.uint32(1)
        start = np.uint32(0)
        for i in range(n_buckets):
            count = buckets[i]
            buckets[i] = start
            start += count
        for i in range(size):
            bucket = (np.uint64(keys[i]) * scale) >> np.uint64(32)
            spare[buckets[bucket]] = keys[i]
            buckets[bucket] += np.uint32(1)
        keys = spare
    # Unsigned indices spare the loop a test for negative ones.
    one = np.uint64(1)
    for i in range(one, np.uint64(size)):
        key = keys[i]
        j: Number = i
        while j >= one and keys[j - one] > key:
            keys[j] = keys[j - one]
            j -= one
        keys[j] = key
    return keys


@compiled
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


@compiled
def _sum_duplicates(
    keys: NDArray[np.uint32],
    size: Number,
    binary: bool,
    norm: Number,
    sums: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[Any],
    begin: Number,
) -> Number:
    """Write a row, one entry per column, from its sorted keys; return the end of the entries."""
    # Without branches, as no processor can predict whether a key repeats: each key overwrites the last entry or begins
    # the next. `sums` ends with the sum of all signs up to the end of each column.
    n_entries = np.uint64(0)
    last = np.uint32(0xFFFFFFFF)
    total = np.int64(0)
    first = np.uint64(begin) - np.uint64(1)
    for i in range(size):
        column = np.uint32(keys[i] >> np.uint32(1))
        n_entries += np.uint64(column != last)
        total += 1 - 2 * np.int64(keys[i] & np.uint32(1))
        indices[first + n_entries] = column
        sums[n_entries - np.uint64(1)] = total
        last = column
    end = begin + np.int64(n_entries)

    # Sums of integers are exact in any order: they equal scikit-learn's to the last bit.
    length = 0.0
    if binary:
        data[begin:end] = 1
        length = float(end - begin)
    else:
        before = np.int64(0)
        absolute = np.int64(0)
        squares = np.int64(0)
        largest = np.int64(0)
        for i in range(end - begin):
            count = sums[i] - before
            before = sums[i]
            absolute += abs(count)
            squares += count * count
            largest = max(largest, abs(count))
            data[begin + i] = count
        length = float(absolute) if norm == L1 else float(squares)
        if norm == L2 and largest > _MAX_FLOAT32_SQUARED:
            length = 0.0
            for i in range(begin, end):
                length += data[i] * data[i]
    if norm != NO_NORM and length > 0:
        if norm == L2:
            length = np.sqrt(length)
        for i in range(begin, end):
            data[i] /= length
    return end
