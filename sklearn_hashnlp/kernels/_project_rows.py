"""Sparse rows to sides of random hyperplanes, with no matrix of hyperplanes anywhere."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hyperplanes import GOOGLE, PRIME, Hyperplanes, fill_column

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@compiled
def _find(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.int64],
    slots: NDArray[np.int64],
    firsts: NDArray[np.int64],
) -> None:
    mask = np.uint64(len(slots) - 1)
    for row in range(len(firsts)):
        start, stop = indptr[row], indptr[row + 1]
        state = np.uint64(stop - start)
        for place in range(start, stop):
            state = (state ^ np.uint64(indices[place])) * _FACTOR
            state = (state ^ (state >> _HALF) ^ np.uint64(data[place])) * _FACTOR
        slot = np.int64((state ^ (state >> _HALF)) & mask)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = firsts[row] = row
                break
            shift = indptr[other] - start
            if indptr[other + 1] - stop == shift:
                place = start
                while place < stop and indices[place] == indices[place + shift] and data[place] == data[place + shift]:
                    place += 1
                if place == stop:
                    firsts[row] = other
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)


def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix which one is the first that is equal to it."""
    n_rows = len(indptr) - 1
    firsts = np.empty(n_rows, dtype=np.int64)
    slots = np.full(2 << n_rows.bit_length(), -1, dtype=np.int64)
    _find(indptr, indices, data.view(np.int64), slots, firsts)
    return firsts


_BITS, _SIGNS, _PACKED, _SUMS = 0, 1, 2, 3
_FORMS = {"bits": _BITS, "signs": _SIGNS, "packed": _PACKED, "sums": _SUMS}
ProjectionForm: TypeAlias = Literal["bits", "signs", "packed", "sums"]

# Columns whose coefficients are kept until there are more. Frequent n-grams come again and again: a few thousand texts
# have some 16,000 of up to three characters. At 1120 hyperplanes so many take 18 MB, whatever the width of the matrix.
_MOST_KEPT = 16384
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_PART = 256  # columns that are found, then added: a call for each would cost more than to add it
_AT_ONCE = 4  # columns that are added in one pass over the sums
# How large a sum of absolute values may be so that, times the largest coefficient, it never leaves 16 or 32 bits.
_MOST_IN_16 = (2**15 - 1) // 127
_MOST_IN_32 = (2**31 - 1) // 127


class _Kept(NamedTuple):
    """The coefficients of the columns that were met last, one row each, found by an open-addressing table."""

    slots: NDArray[np.int32]  # the row of the column in each slot, -1 where there is none
    shift: np.uint64
    columns: NDArray[np.int64]
    n_columns: NDArray[np.int64]  # of one number
    rows: NDArray[np.int8]
    words: NDArray[np.uint32]  # room


@compiled
def _find_rows(
    columns: NDArray[np.int64],
    kind: Number,
    keys: NDArray[np.uint32],
    threshold: Number,
    pairs: NDArray[np.uint16],
    kept: _Kept,
    found: NDArray[np.int64],
) -> None:
    """Return in which rows the coefficients of a part of the columns stand, made now if they did not."""
    slots, shift, held = kept.slots, kept.shift, kept.columns
    n_held = kept.n_columns[0]
    if n_held + len(columns) > len(held):
        slots[:] = -1
        n_held = 0
    for place in range(len(columns)):
        column = columns[place]
        slot = np.int64((np.uint64(column) * _SPREAD) >> shift)
        while slots[slot] >= 0 and held[slots[slot]] != column:
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            slots[slot] = n_held
            held[n_held] = column
            fill_column(column, kind, keys, threshold, pairs, kept.words, kept.rows[n_held])
            n_held += 1
        found[place] = slots[slot]
    kept.n_columns[0] = n_held


@compiled
def _add_short(
    coefficients: NDArray[np.int8], found: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.int16]
) -> None:
    """Add small integers, which is as exact as with float64, and several times as fast."""
    row = np.zeros(_AT_ONCE, dtype=np.int64)
    times = np.zeros(_AT_ONCE, dtype=np.int16)
    for begin in range(0, len(values), _AT_ONCE):
        n_values = min(_AT_ONCE, len(values) - begin)
        for one in range(n_values):
            row[one], times[one] = found[begin + one], np.int16(values[begin + one])
        for one in range(n_values, _AT_ONCE):
            times[one] = 0
        row_0, row_1, row_2, row_3 = row[0], row[1], row[2], row[3]
        times_0, times_1, times_2, times_3 = times[0], times[1], times[2], times[3]
        for place in range(len(sums)):
            first = np.int16(coefficients[row_0, place] * times_0) + np.int16(coefficients[row_1, place] * times_1)
            second = np.int16(coefficients[row_2, place] * times_2) + np.int16(coefficients[row_3, place] * times_3)
            sums[place] = np.int16(sums[place] + np.int16(np.int16(first) + np.int16(second)))


@compiled
def _add_integers(
    coefficients: NDArray[np.int8],
    found: NDArray[np.int64],
    values: NDArray[np.float64],
    short: NDArray[np.int16],
    sums: NDArray[np.int32],
) -> None:
    """Add integers: as many as fit into 16 bits at a time, and large ones by themselves."""
    begin = 0
    while begin < len(values):
        size = 0.0
        end = begin
        while end < len(values) and size + abs(values[end]) <= _MOST_IN_16:
            size += abs(values[end])
            end += 1
        if end > begin:
            short[:] = 0
            _add_short(coefficients, found[begin:end], values[begin:end], short)
            for place in range(len(sums)):
                sums[place] = np.int32(sums[place] + np.int32(short[place]))
        else:
            row, value = found[begin], np.int32(values[begin])
            for place in range(len(sums)):
                sums[place] = np.int32(sums[place] + np.int32(coefficients[row, place] * value))
            end += 1
        begin = end


@compiled
def _add_numbers(
    coefficients: NDArray[np.int8], found: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add in the order of the columns, each product rounded before it is added."""
    for column in range(len(values)):
        row, value = found[column], values[column]
        for place in range(len(sums)):
            sums[place] += value * np.float64(coefficients[row, place])


@compiled
def _add_google(
    columns: NDArray[np.int64], seeds: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    for column in range(len(values)):
        signature, value = columns[column] % PRIME, values[column]
        for place in range(len(seeds)):
            product = signature * seeds[place]
            # The prime is 2**31 - 1, so that the upper bits are worth as much as the lower ones.
            product = (product & PRIME) + (product >> 31)
            product -= PRIME * np.int64(product >= PRIME)
            product -= PRIME * np.int64(product > PRIME // 2)
            sums[place] += value * np.float64(product)


@compiled
def _size_of(data: NDArray[np.float64]) -> tuple[float, bool]:
    """Add up absolute values, in order, and tell whether all of them are integers."""
    size = 0.0
    are_integral = True
    for value in data:
        size += abs(value)
        are_integral &= value == np.floor(value)
    return size, are_integral


@compiled
def _write_bits(
    sums: NDArray[Any],
    ties: NDArray[np.uint8],
    n: Number,
    form: Number,
    bits: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> None:
    sides = bits if form == _PACKED else out
    for place in range(n):
        sides[place] = np.uint8(sums[place] > 0) | (np.uint8(sums[place] == 0) & ties[place])
    if form == _SIGNS:
        for place in range(len(out)):
            out[place] = np.uint8(np.uint8(out[place] << np.uint8(1)) - np.uint8(1))  # 255 is -1
    elif form == _PACKED:
        for byte in range(len(out)):
            eight = np.uint8(0)
            for bit in range(8):
                eight |= np.uint8(bits[8 * byte + bit] << np.uint8(7 - bit))
            out[byte] = eight


@compiled
def _copy(row: NDArray[Any], out: NDArray[Any]) -> None:
    for place in range(len(out)):
        out[place] = row[place]


@compiled
def _write_sums(sums: NDArray[Any], scale: float, divisor: float, out: NDArray[np.float32]) -> None:
    for place in range(len(out)):
        out[place] = np.float32(np.float64(sums[place]) * scale / divisor)


@compiled
def _finish(
    sums: NDArray[Any],
    ties: NDArray[np.uint8],
    scale: float,
    divisor: float,
    n: Number,
    form: Number,
    bits: NDArray[np.uint8],
    row: Number,
    bit_rows: NDArray[np.uint8],
    sum_rows: NDArray[np.float32],
) -> None:
    if form == _SUMS:
        _write_sums(sums, scale, divisor, sum_rows[row])
    else:
        _write_bits(sums, ties, n, form, bits, bit_rows[row])


@compiled
def _project(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    firsts: NDArray[np.int64],
    kind: Number,
    keys: NDArray[np.uint32],
    threshold: Number,
    pairs: NDArray[np.uint16],
    seeds: NDArray[np.int64],
    ties: NDArray[np.uint8],
    scale: float,
    n: Number,
    rows: NDArray[np.int8],
    shift: Number,
    form: Number,
    bit_rows: NDArray[np.uint8],
    sum_rows: NDArray[np.float32],
) -> None:
    width = len(ties)
    kept = _Kept(
        np.full(1 << (64 - np.int64(shift)), -1, dtype=np.int32),
        shift,
        np.empty(len(rows), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        rows,
        np.empty(width, dtype=np.uint32),
    )
    found = np.empty(_PART, dtype=np.int64)
    short = np.zeros(width, dtype=np.int16)
    integers = np.empty(width, dtype=np.int32)
    numbers = np.empty(width, dtype=np.float64)
    bits = np.zeros(width, dtype=np.uint8)  # those behind the last hyperplane stay 0
    for row in range(len(indptr) - 1):
        first = firsts[row]
        if first != row:
            if form == _SUMS:
                _copy(sum_rows[first], sum_rows[row])
            else:
                _copy(bit_rows[first], bit_rows[row])
            continue
        columns, values = indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]]
        size, are_integral = _size_of(values)
        divisor = 1.0
        if size == 0:
            short[:] = -1  # on the lower side of every hyperplane
            if form == _SUMS:
                short[:] = 0
            _finish(short, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif kind == GOOGLE:
            numbers[:] = 0
            _add_google(columns, seeds, values, numbers)
            divisor = size
            _finish(numbers, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif not are_integral or size > _MOST_IN_32:
            numbers[:] = 0
            for begin in range(0, len(columns), _PART):
                _find_rows(columns[begin : begin + _PART], kind, keys, threshold, pairs, kept, found)
                _add_numbers(kept.rows, found, values[begin : begin + _PART], numbers)
            _finish(numbers, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif size > _MOST_IN_16 or len(columns) > _PART:
            integers[:] = 0
            for begin in range(0, len(columns), _PART):
                _find_rows(columns[begin : begin + _PART], kind, keys, threshold, pairs, kept, found)
                _add_integers(kept.rows, found, values[begin : begin + _PART], short, integers)
            _finish(integers, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        else:
            short[:] = 0
            _find_rows(columns, kind, keys, threshold, pairs, kept, found)
            _add_short(kept.rows, found, values, short)
            _finish(short, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)


def project_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
    hyperplanes: Hyperplanes,
    form: ProjectionForm,
    out: NDArray[Any],  # (n_rows, n)
) -> None:
    """Project the rows of a CSR matrix on hyperplanes. Equal rows are projected once."""
    n_kept = min(max(len(indices), 1), _MOST_KEPT)
    _project(
        indptr,
        indices,
        data,
        first_equal_rows(indptr, indices, data),
        hyperplanes.kind,
        hyperplanes.keys,
        hyperplanes.threshold,
        hyperplanes.pairs,
        hyperplanes.seeds,
        hyperplanes.ties,
        hyperplanes.scale,
        hyperplanes.n,
        # Made here, as numpy asks the system for large pages: filling small ones takes longer than the coefficients.
        np.empty((n_kept, len(hyperplanes.ties)), dtype=np.int8),
        np.uint64(64 - (2 * n_kept - 1).bit_length()),  # of the table, which is never more than half full
        _FORMS[form],
        out.view(np.uint8) if form != "sums" else np.empty((0, 0), dtype=np.uint8),
        out if form == "sums" else np.empty((0, 0), dtype=np.float32),
    )
