"""Rows of a sparse matrix as weighted sums of rows of a table, which has a row for each of their distinct columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, inner, inner_vectorized
from sklearn_hashnlp.kernels._hashes import GAMMA
from sklearn_hashnlp.kernels.projections._simd import MAX_WEIGHT

MAX_PER_VALUE = 8
"""The largest number of entries of a value: four digits in base 256, and after each an entry of weight 0."""

ZEROS = -1
"""The index of the equal row of a row with only zeros."""

_MAX_SIZE = 2**31 - 1  # the largest sum of absolute integers that are added by digits
_DIGIT_BITS = 8
_MAX_BYTE = 255  # the largest weight of an entry


class Chunk(NamedTuple):
    """Rows that are projected together, or slices of long ones.

    An entry is a row of the table and, for integers, a weight of one byte. A segment is an even number of entries with
    weights that are added in 16 bits; a row of a few small counts is one. Any other row is in slices. A slice of
    integers is a sum of segments, each times a factor; a slice of other numbers has an entry for each, in order.
    """

    slots: NDArray[np.int32]  # an open-addressing hash table: the row of the table of the column in each slot, or -1
    shift: Number  # from a 64-bit hash to a slot
    columns: NDArray[np.int64]  # (n_columns,): the column of each row of the table
    entries: NDArray[np.int32]
    weights: NDArray[np.uint8]
    counts: NDArray[np.int64]  # (n_counts, 3): row, first entry and end, for rows of a few small counts
    slices: NDArray[np.int64]  # (n_slices, 5): row, first value and end, first entry, end of segments (-1: no integers)
    segments: NDArray[np.int32]  # (n_segments, 3): first entry and end, factor
    sizes: NDArray[np.int64]  # (5,): number of columns, entries, counts, slices and segments


COLUMNS, ENTRIES, COUNTS, SLICES, SEGMENTS = 0, 1, 2, 3, 4
"""Indices of the sizes of a chunk."""


@inner
def new_chunk(n_columns: Number, n_entries: Number, n_rows: Number, n_slices: Number) -> Chunk:
    """Allocate a chunk with a maximum number of columns, entries, rows and slices."""
    shift = np.uint64(63)
    while np.int64(1) << (np.uint64(64) - shift) < 2 * n_columns:  # at most half of the slots are used
        shift -= np.uint64(1)
    return Chunk(
        np.full(np.int64(1) << (np.uint64(64) - shift), -1, dtype=np.int32),
        shift,
        np.empty(n_columns, dtype=np.int64),
        np.empty(n_entries, dtype=np.int32),
        np.empty(n_entries, dtype=np.uint8),
        np.empty((n_rows, 3), dtype=np.int64),
        np.empty((n_slices, 5), dtype=np.int64),
        np.empty((n_entries // 2, 3), dtype=np.int32),
        np.zeros(5, dtype=np.int64),
    )


@inner
def empty_chunk(chunk: Chunk) -> None:
    """Remove all rows and columns."""
    chunk.slots[:] = -1
    chunk.sizes[:] = 0


@inner
def fill_chunk(
    chunk: Chunk,
    row: Number,  # the first one
    value: Number,  # the first one; after values of the row in an earlier chunk, if any
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[np.float64],
    firsts: NDArray[np.int64],  # of equal rows; ZEROS is written for rows of zeros
    places: NDArray[np.int32],  # (n_values of a slice,): scratch
) -> tuple[Number, Number]:
    """Append rows while there is room, and return the next row and the next value."""
    max_slice = len(places)
    sizes, entries, weights, counts = chunk.sizes, chunk.entries, chunk.weights, chunk.counts
    slots, shift, columns = chunk.slots, chunk.shift, chunk.columns
    while row < len(firsts):
        if firsts[row] != row:
            row += 1
            continue
        begin, end = indptr[row], indptr[row + 1]
        size, are_integers, are_counts = _measure(data, begin, end)
        if size == 0:
            firsts[row] = ZEROS
        elif are_counts and size <= _MAX_BYTE and end - begin <= max_slice:
            if not _has_room(sizes, end - begin, end - begin + 1, columns, entries):
                return row, begin
            entry, n_counts = sizes[ENTRIES], sizes[COUNTS]
            _find_places(indices, begin, end, slots, shift, columns, sizes, entries, entry)
            for i in range(np.uint64(end - begin)):
                weights[np.uint64(entry) + i] = np.uint8(data[np.uint64(begin) + i])
            counts[n_counts, 0], counts[n_counts, 1] = row, entry
            counts[n_counts, 2] = sizes[ENTRIES] = _make_even(entry, entry + end - begin, entries, weights)
            sizes[COUNTS] += 1
        else:
            for start in range(max(begin, value), end, max_slice):
                stop = min(start + max_slice, end)
                if not _has_room(sizes, stop - start, MAX_PER_VALUE * (stop - start), columns, entries):
                    return row, start
                _append_slice(row, start, stop, indices, data, are_integers and size <= _MAX_SIZE, places, chunk)
        row += 1
    return row, value


@inner_vectorized
def _measure(data: NDArray[np.float64], begin: Number, end: Number) -> tuple[float, bool, bool]:
    """Return the sum of some absolute values, and whether all are integers, and positive ones."""
    size, are_integers, are_counts = 0.0, True, True  # a sum that is compared with integers is exact
    for i in range(np.uint64(begin), np.uint64(end)):
        value = data[i]
        size += abs(value)
        are_integers &= value == np.floor(value)
        are_counts &= value >= 1.0
    return size, are_integers, are_integers and are_counts


@inner
def _has_room(
    sizes: NDArray[np.int64],
    n_columns: Number,
    n_entries: Number,
    columns: NDArray[np.int64],
    entries: NDArray[np.int32],
) -> bool:
    """Check that a number of columns and entries can be appended."""
    return bool(sizes[ENTRIES] + n_entries <= len(entries) and sizes[COLUMNS] + n_columns <= len(columns))


@inner
def _find_places(
    indices: NDArray[Any],
    begin: Number,
    end: Number,
    slots: NDArray[np.int32],
    shift: Number,
    columns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    places: NDArray[np.int32],
    first: Number,  # of the places that are written
) -> None:
    """Look up the rows of the table of some columns; a new column gets the next row."""
    n_columns = sizes[COLUMNS]
    mask = np.uint64(len(slots) - 1)
    for i in range(np.uint64(end - begin)):
        column = indices[np.uint64(begin) + i]
        slot = (np.uint64(column) * GAMMA) >> shift
        place = slots[slot]
        while place >= 0 and columns[np.uint64(place)] != column:
            slot = (slot + np.uint64(1)) & mask
            place = slots[slot]
        if place < 0:
            place = slots[slot] = np.int32(n_columns)
            columns[np.uint64(n_columns)] = column
            n_columns += 1
        places[np.uint64(first) + i] = place
    sizes[COLUMNS] = n_columns


@inner
def _append_slice(
    row: Number,
    start: Number,
    stop: Number,
    indices: NDArray[Any],
    data: NDArray[np.float64],
    are_integers: bool,
    places: NDArray[np.int32],
    chunk: Chunk,
) -> None:
    """Append values of a row."""
    sizes = chunk.sizes
    entry = sizes[ENTRIES]
    new = chunk.slices[sizes[SLICES]]
    new[0], new[1], new[2], new[3], new[4] = row, start, stop, entry, -1
    sizes[SLICES] += 1
    if are_integers:
        _find_places(indices, start, stop, chunk.slots, chunk.shift, chunk.columns, sizes, places, 0)
        _append_integers(data[start:stop], places, chunk)
        new[4] = sizes[SEGMENTS]
    else:
        _find_places(indices, start, stop, chunk.slots, chunk.shift, chunk.columns, sizes, chunk.entries, entry)
        sizes[ENTRIES] = entry + stop - start


@inner
def _append_integers(values: NDArray[np.float64], places: NDArray[np.int32], chunk: Chunk) -> None:
    """Append the segments of positive and of negative integers, for each digit in base 256."""
    positive = negative = np.int64(0)  # bits of any of them
    for value in values:
        positive |= np.int64(max(value, 0.0))
        negative |= np.int64(max(-value, 0.0))
    shift = 0
    while (positive | negative) >> shift > 0:
        if positive >> shift > 0:
            _append_digits(values, 1, shift, places, chunk)
        if negative >> shift > 0:
            _append_digits(values, -1, shift, places, chunk)
        shift += _DIGIT_BITS


@inner
def _append_digits(
    values: NDArray[np.float64], sign: Number, shift: Number, places: NDArray[np.int32], chunk: Chunk
) -> None:
    """Append the segments of one digit of the integers of one sign."""
    entries, weights = chunk.entries, chunk.weights
    begin = end = chunk.sizes[ENTRIES]
    size = np.int64(0)
    for i in range(np.uint64(len(values))):
        digit = (np.int64(max(sign * values[i], 0.0)) >> shift) & 255
        if digit == 0:
            continue
        if size + digit > MAX_WEIGHT:
            begin = end = _append_segment(begin, end, sign << shift, chunk)
            size = np.int64(0)
        entries[np.uint64(end)], weights[np.uint64(end)] = places[i], digit
        size += digit
        end += 1
    if end > begin:
        end = _append_segment(begin, end, sign << shift, chunk)
    chunk.sizes[ENTRIES] = end


@inner
def _append_segment(begin: Number, end: Number, factor: Number, chunk: Chunk) -> Number:
    """Append a segment of the last entries, and return their end."""
    end = _make_even(begin, end, chunk.entries, chunk.weights)
    segment = chunk.segments[chunk.sizes[SEGMENTS]]
    segment[0], segment[1], segment[2] = begin, end, factor
    chunk.sizes[SEGMENTS] += 1
    return end


@inner
def _make_even(begin: Number, end: Number, entries: NDArray[np.int32], weights: NDArray[np.uint8]) -> Number:
    """Append an entry of weight 0 to an odd number of entries, and return their end."""
    if (end - begin) & 1:
        entries[end], weights[end] = 0, 0
        end += 1
    return end
