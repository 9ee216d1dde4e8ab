"""Rows of a sparse matrix projected on random hyperplanes, without a matrix of hyperplanes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._hashes import GAMMA
from sklearn_hashnlp.kernels._hyperplanes import GOOGLE, PRIME, Hyperplanes, fill_column

_BITS, _SIGNS, _PACKED, _SUMS = 0, 1, 2, 3
_FORMS = {"bits": _BITS, "signs": _SIGNS, "packed": _PACKED, "sums": _SUMS}
ProjectionForm: TypeAlias = Literal["bits", "signs", "packed", "sums"]

# Number of columns whose coefficients are cached. Frequent n-grams occur again and again: a few thousand texts have
# some 16,000 of up to three characters. At 1120 hyperplanes the cache takes 18 MB, whatever the width of the matrix.
_MAX_CACHED = 16384
_MAX_COLUMNS = 256  # columns that are looked up, then added: a call for each would cost more than to add it
_COLUMNS_PER_PASS = 4  # columns that are added in one pass over the sums
# The largest sum of absolute values that, times the largest coefficient, fits into 16 or 32 bits.
_MAX_SIZE_INT16 = (2**15 - 1) // 127
_MAX_SIZE_INT32 = (2**31 - 1) // 127
_HALF_WORD = np.uint64(32)


def project_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,): ascending within a row
    data: NDArray[np.float64],  # (n_values,)
    hyperplanes: Hyperplanes,
    form: ProjectionForm,
    out: NDArray[Any],  # (n_rows, n), or (n_rows, ceil(n / 8)) if packed
) -> None:
    """Project the rows of a CSR matrix on hyperplanes; equal rows are projected once."""
    n_cached = min(max(len(indices), 1), _MAX_CACHED)
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
        # Allocated here, as numpy asks for huge pages: the faults of small ones take longer than the coefficients.
        np.empty((n_cached, len(hyperplanes.ties)), dtype=np.int8),
        np.uint64(64 - (2 * n_cached - 1).bit_length()),  # the table is at most half full
        _FORMS[form],
        out.view(np.uint8) if form != "sums" else np.empty((0, 0), dtype=np.uint8),
        out if form == "sums" else np.empty((0, 0), dtype=np.float32),
    )


class _CoefficientCache(NamedTuple):
    """The coefficients of recent columns, one row each, and an open-addressing hash table of their rows."""

    slots: NDArray[np.int32]  # the row of the column in each slot, or -1
    shift: np.uint64  # from a 64-bit hash to a slot
    columns: NDArray[np.int64]  # (n_cached,): the column of each row
    n_columns: NDArray[np.int64]  # (1,)
    rows: NDArray[np.int8]  # (n_cached, width)
    words: NDArray[np.uint32]  # (width,): scratch


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
    cache = _CoefficientCache(
        np.full(1 << (64 - np.int64(shift)), -1, dtype=np.int32),
        shift,
        np.empty(len(rows), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        rows,
        np.empty(width, dtype=np.uint32),
    )
    cache_rows = np.empty(_MAX_COLUMNS, dtype=np.int64)
    sums_16 = np.zeros(width, dtype=np.int16)
    sums_32 = np.empty(width, dtype=np.int32)
    sums_64 = np.empty(width, dtype=np.float64)
    bits = np.zeros(width, dtype=np.uint8)  # those after the last hyperplane stay 0
    for row in range(len(indptr) - 1):
        first = firsts[row]
        if first != row:
            if form == _SUMS:
                _copy(sum_rows[first], sum_rows[row])
            else:
                _copy(bit_rows[first], bit_rows[row])
            continue
        columns, values = indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]]
        size, are_integral = _sum_of_absolutes(values)
        divisor = 1.0
        if size == 0:
            sums_16[:] = -1  # every bit is 0
            if form == _SUMS:
                sums_16[:] = 0
            _write(sums_16, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif kind == GOOGLE:
            sums_64[:] = 0
            _add_google(columns, seeds, values, sums_64)
            divisor = size
            _write(sums_64, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif not are_integral or size > _MAX_SIZE_INT32:
            sums_64[:] = 0
            for begin in range(0, len(columns), _MAX_COLUMNS):
                _cache_columns(columns[begin : begin + _MAX_COLUMNS], kind, keys, threshold, pairs, cache, cache_rows)
                _add_float64(cache.rows, cache_rows, values[begin : begin + _MAX_COLUMNS], sums_64)
            _write(sums_64, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        elif size > _MAX_SIZE_INT16 or len(columns) > _MAX_COLUMNS:
            sums_32[:] = 0
            for begin in range(0, len(columns), _MAX_COLUMNS):
                _cache_columns(columns[begin : begin + _MAX_COLUMNS], kind, keys, threshold, pairs, cache, cache_rows)
                _add_int32(cache.rows, cache_rows, values[begin : begin + _MAX_COLUMNS], sums_16, sums_32)
            _write(sums_32, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)
        else:
            sums_16[:] = 0
            _cache_columns(columns, kind, keys, threshold, pairs, cache, cache_rows)
            _add_int16(cache.rows, cache_rows, values, sums_16)
            _write(sums_16, ties, scale, divisor, n, form, bits, row, bit_rows, sum_rows)


@compiled
def _cache_columns(
    columns: NDArray[np.int64],
    kind: Number,
    keys: NDArray[np.uint32],
    threshold: Number,
    pairs: NDArray[np.uint16],
    cache: _CoefficientCache,
    cache_rows: NDArray[np.int64],
) -> None:
    """Look up the cache rows of some columns, and compute those that are not cached; a full cache is emptied."""
    slots, shift, columns_held = cache.slots, cache.shift, cache.columns
    n_columns = cache.n_columns[0]
    if n_columns + len(columns) > len(columns_held):
        slots[:] = -1
        n_columns = 0
    for i in range(len(columns)):
        column = columns[i]
        slot = np.int64((np.uint64(column) * GAMMA) >> shift)
        while slots[slot] >= 0 and columns_held[slots[slot]] != column:
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            slots[slot] = n_columns
            columns_held[n_columns] = column
            fill_column(column, kind, keys, threshold, pairs, cache.words, cache.rows[n_columns])
            n_columns += 1
        cache_rows[i] = slots[slot]
    cache.n_columns[0] = n_columns


@compiled
def _add_int16(
    coefficients: NDArray[np.int8], cache_rows: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.int16]
) -> None:
    """Add products with small integers, exactly as in float64, and several times as fast."""
    row = np.zeros(_COLUMNS_PER_PASS, dtype=np.int64)
    times = np.zeros(_COLUMNS_PER_PASS, dtype=np.int16)
    for begin in range(0, len(values), _COLUMNS_PER_PASS):
        n_values = min(_COLUMNS_PER_PASS, len(values) - begin)
        for one in range(n_values):
            row[one], times[one] = cache_rows[begin + one], np.int16(values[begin + one])
        for one in range(n_values, _COLUMNS_PER_PASS):
            times[one] = 0
        row_0, row_1, row_2, row_3 = row[0], row[1], row[2], row[3]
        times_0, times_1, times_2, times_3 = times[0], times[1], times[2], times[3]
        for i in range(len(sums)):
            first = np.int16(coefficients[row_0, i] * times_0) + np.int16(coefficients[row_1, i] * times_1)
            second = np.int16(coefficients[row_2, i] * times_2) + np.int16(coefficients[row_3, i] * times_3)
            sums[i] = np.int16(sums[i] + np.int16(np.int16(first) + np.int16(second)))


@compiled
def _add_int32(
    coefficients: NDArray[np.int8],
    cache_rows: NDArray[np.int64],
    values: NDArray[np.float64],
    sums_16: NDArray[np.int16],
    sums: NDArray[np.int32],
) -> None:
    """Add products with integers: as many as fit into 16 bits at a time, and large ones by themselves."""
    begin = 0
    while begin < len(values):
        size = 0.0
        end = begin
        while end < len(values) and size + abs(values[end]) <= _MAX_SIZE_INT16:
            size += abs(values[end])
            end += 1
        if end > begin:
            sums_16[:] = 0
            _add_int16(coefficients, cache_rows[begin:end], values[begin:end], sums_16)
            for i in range(len(sums)):
                sums[i] = np.int32(sums[i] + np.int32(sums_16[i]))
        else:
            row, value = cache_rows[begin], np.int32(values[begin])
            for i in range(len(sums)):
                sums[i] = np.int32(sums[i] + np.int32(coefficients[row, i] * value))
            end += 1
        begin = end


@compiled
def _add_float64(
    coefficients: NDArray[np.int8],
    cache_rows: NDArray[np.int64],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add products in the order of the columns, each rounded before it is added."""
    for column in range(len(values)):
        row, value = cache_rows[column], values[column]
        for i in range(len(sums)):
            sums[i] += value * np.float64(coefficients[row, i])


@compiled
def _add_google(
    columns: NDArray[np.int64], seeds: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    for column in range(len(values)):
        signature, value = columns[column] % PRIME, values[column]
        for i in range(len(seeds)):
            product = signature * seeds[i]
            # Modulo 2**31 - 1, the upper bits count as much as the lower ones.
            product = (product & PRIME) + (product >> 31)
            product -= PRIME * np.int64(product >= PRIME)
            product -= PRIME * np.int64(product > PRIME // 2)
            sums[i] += value * np.float64(product)


@compiled
def _sum_of_absolutes(data: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the sum of absolute values, in order, and whether all values are integers."""
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
    target = bits if form == _PACKED else out
    for i in range(n):
        target[i] = np.uint8(sums[i] > 0) | (np.uint8(sums[i] == 0) & ties[i])
    if form == _SIGNS:
        for i in range(len(out)):
            out[i] = np.uint8(np.uint8(out[i] << np.uint8(1)) - np.uint8(1))  # 255 is -1
    elif form == _PACKED:
        for byte in range(len(out)):
            eight = np.uint8(0)
            for bit in range(8):
                eight |= np.uint8(bits[8 * byte + bit] << np.uint8(7 - bit))
            out[byte] = eight


@compiled
def _copy(row: NDArray[Any], out: NDArray[Any]) -> None:
    for i in range(len(out)):
        out[i] = row[i]


@compiled
def _write_sums(sums: NDArray[Any], scale: float, divisor: float, out: NDArray[np.float32]) -> None:
    for i in range(len(out)):
        out[i] = np.float32(np.float64(sums[i]) * scale / divisor)


@compiled
def _write(
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


def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[np.int64],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix the first row that is equal to it, bit by bit."""
    n_rows = len(indptr) - 1
    firsts = np.empty(n_rows, dtype=np.int64)
    slots = np.full(2 << n_rows.bit_length(), -1, dtype=np.int64)
    _find_equal_rows(indptr, indices, data.view(np.int64), slots, firsts)
    return firsts


@compiled
def _find_equal_rows(
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
        for i in range(start, stop):
            state = (state ^ np.uint64(indices[i])) * GAMMA
            state = (state ^ (state >> _HALF_WORD) ^ np.uint64(data[i])) * GAMMA
        slot = np.int64((state ^ (state >> _HALF_WORD)) & mask)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = firsts[row] = row
                break
            shift = indptr[other] - start
            if indptr[other + 1] - stop == shift:
                i = start
                while i < stop and indices[i] == indices[i + shift] and data[i] == data[i + shift]:
                    i += 1
                if i == stop:
                    firsts[row] = other
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)
