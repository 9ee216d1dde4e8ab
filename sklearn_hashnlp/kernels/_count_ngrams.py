"""Hashed n-grams counted into the rows of a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._ragged import Ragged

NO_NORM, L1, L2 = 0, 1, 2
"""What the values of a row are divided by: nothing, their absolute sum, or their euclidean length."""

_LARGEST_INSERTED_ROW = 12
_LARGEST_BUCKETED_ROW = 4096
_DIGIT_BITS = 11
_LARGEST_FLOAT32_SQUARED = 2**12  # beyond it a square in float32 is rounded, and scikit-learn's is


Room: TypeAlias = Callable[[int], tuple[NDArray[np.int32], NDArray[Any]]]
"""Gives arrays for so many columns and values."""


def count_hashes(
    hashes: Ragged,
    *,
    n_features: int,
    alternate_sign: bool = False,
    binary: bool = False,
    norm: int = NO_NORM,
    dtype: type[np.floating[Any]] = np.float64,
    room: Room | None = None,
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Count how often each column occurs in each row."""
    size = len(hashes.values)
    indices, data = (np.empty(size, dtype=np.int32), np.empty(size, dtype=dtype)) if room is None else room(size)
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
    buckets = np.empty(2 * _LARGEST_BUCKETED_ROW, dtype=np.uint32)
    indptr = np.empty(n_rows + 1, dtype=np.int64)
    end = 0
    for row in range(n_rows):
        indptr[row] = end
        size = offsets[row + 1] - offsets[row]
        _make_keys(hashes, offsets[row], size, n_features, alternate_sign, keys)
        if size <= _LARGEST_BUCKETED_ROW:
            in_order = _sort_by_buckets(keys, spare, size, n_features, buckets)
        else:
            in_order = _sort_by_digits(keys, spare, size)
        begin = end
        end = _sum_duplicates(in_order, size, binary, norm, sums, indices, data, begin)
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
    """Return each hash the sort key 2 * column + (1 for a negative sign)."""
    sign_bit = np.uint32(alternate_sign)
    if n_features & (n_features - 1) == 0:
        mask = np.uint32(n_features - 1)
        for i in range(size):
            hashed = hashes[first + i]
            column = np.uint32(abs(hashed)) & mask
            keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hashed) >> np.uint32(31)) & sign_bit)
        return
    divisor = np.float64(n_features)
    reciprocal = 1.0 / divisor
    for i in range(size):
        hashed = hashes[first + i]
        # Dividing would take longer. All numbers here are exact in float64 but the reciprocal, so that a whole quotient
        # may come out just below itself: the rest is then the divisor.
        magnitude = abs(np.float64(hashed))
        rest = magnitude - np.floor(magnitude * reciprocal) * divisor
        rest = rest - divisor if rest >= divisor else rest
        column = np.uint32(np.int32(rest))
        keys[i] = np.uint32(column << np.uint32(1)) | (np.uint32(np.uint32(hashed) >> np.uint32(31)) & sign_bit)


@compiled
def _sort_by_buckets(
    keys: NDArray[np.uint32],
    spare: NDArray[np.uint32],
    size: Number,
    n_features: Number,
    buckets: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Sort by scattering into two buckets a key, then by insertion: hashes spread evenly, so few keys still move."""
    if size > _LARGEST_INSERTED_ROW:
        n_buckets = np.int64(32)
        while n_buckets < 2 * size and n_buckets < len(buckets):
            n_buckets *= 2
        scale = (np.uint64(n_buckets) << np.uint64(31)) // np.uint64(n_features)  # of key to bucket, times 2**32
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
    # Unsigned positions spare the loop a test for negative ones.
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
    """Sort by three digits of 11 bits, the last first: the time does not depend on what the keys are."""
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
    """Write a row, one entry a column, from its sorted keys; give the end of the entries."""
    # Written without branches, as nobody can predict whether a key repeats: each key overwrites the last entry or
    # begins the next. What is left in `sums` is the sum of all signs up to the end of each column.
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

    # Sums of whole numbers are exact in any order: they equal scikit-learn's to the last bit.
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
        if norm == L2 and largest > _LARGEST_FLOAT32_SQUARED:
            length = 0.0
            for i in range(begin, end):
                length += data[i] * data[i]
    if norm != NO_NORM and length > 0:
        if norm == L2:
            length = np.sqrt(length)
        for i in range(begin, end):
            data[i] /= length
    return end
