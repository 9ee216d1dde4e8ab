"""Rows of a sparse matrix projected on random hyperplanes, without a matrix of hyperplanes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inner
from sklearn_hashnlp.kernels._hashes import GAMMA
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages
from sklearn_hashnlp.kernels.projections._chunks import (
    COLUMNS,
    COUNTS,
    MAX_PER_VALUE,
    SLICES,
    ZEROS,
    Chunk,
    empty_chunk,
    fill_chunk,
    new_chunk,
)
from sklearn_hashnlp.kernels.projections._hyperplanes import (
    GOOGLE,
    GROUP,
    PRIME,
    Hyperplanes,
    fill_table,
    start_columns,
)
from sklearn_hashnlp.kernels.projections._simd import add_rows, add_rows_in_5

_BITS, _SIGNS, _PACKED, _SUMS = 0, 1, 2, 3
_FORMS = {"bits": _BITS, "signs": _SIGNS, "packed": _PACKED, "sums": _SUMS}
ProjectionForm: TypeAlias = Literal["bits", "signs", "packed", "sums"]

# Rows are projected in chunks, and a chunk on one tile of hyperplanes after the other. Frequent n-grams occur again and
# again (a few thousand texts have some 16,000 of up to three characters), so the coefficients of a chunk's columns are
# computed once for each tile, in a table small enough for the caches of a processor.
_TILE = 5 * GROUP  # hyperplanes: their sums fit into the vector registers of x86
_MAX_COLUMNS = 2**15  # of a chunk: a table of 5 MB
_MAX_ENTRIES = 2**20  # of a chunk: 5 MB
_MAX_SLICE = 2**12  # values of a row that are appended to a chunk at a time
_BATCH = 32  # rows that are added, then written: a call for each would cost more than to write it
_CACHE_LINE = 64  # bytes
_HALF_WORD = np.uint64(32)
_TO_HIGHEST_BYTE, _HIGHEST_BYTE = np.uint64(0x8040201008040201), np.uint64(56)


class _Output(NamedTuple):
    """The projections of all rows; only the array of the form is used."""

    form: int
    bits: NDArray[np.uint8]  # (n_rows, n), or (n_rows, ceil(n / 8)) if packed
    sums: NDArray[np.float32]  # (n_rows, n)


def project_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[Any],  # (n_values,): int32 or int64, ascending within a row
    data: NDArray[np.float64],  # (n_values,)
    hyperplanes: Hyperplanes,
    form: ProjectionForm,
    out: NDArray[Any],  # (n_rows, n), or (n_rows, ceil(n / 8)) if packed
) -> None:
    """Project the rows of a CSR matrix on hyperplanes; equal rows are projected once."""
    firsts = first_equal_rows(indptr, indices, data)
    output = _Output(
        form=_FORMS[form],
        bits=out.view(np.uint8) if form != "sums" else np.empty((0, 0), dtype=np.uint8),
        sums=out if form == "sums" else np.empty((0, 0), dtype=np.float32),
    )
    if hyperplanes.kind == GOOGLE:
        _project_google(indptr, indices, data, firsts, hyperplanes, output)
    else:
        n_columns = min(max(len(indices), 1), _MAX_COLUMNS)
        max_slice = min(n_columns, _MAX_SLICE)
        n_entries = max(MAX_PER_VALUE * max_slice, min(2 * len(indices), _MAX_ENTRIES))
        _project(indptr, indices, data, firsts, hyperplanes, output, n_columns, n_entries, max_slice)
    _copy_equal(firsts, out, -1 if form == "signs" else 0)


@compiled
def _project(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[np.float64],
    firsts: NDArray[np.int64],
    hyperplanes: Hyperplanes,
    output: _Output,
    n_columns: Number,
    n_entries: Number,
    max_slice: Number,
) -> None:
    kind, keys, threshold, pairs = hyperplanes.kind, hyperplanes.keys, hyperplanes.threshold, hyperplanes.pairs
    n_hyperplanes = len(hyperplanes.ties)
    chunk = new_chunk(n_columns, n_entries, len(firsts), len(firsts) + len(indices) // max_slice)
    places = np.empty(max_slice, dtype=np.int32)
    n_tiles = (n_hyperplanes + _TILE - 1) // _TILE
    sums = np.empty((n_tiles, _TILE), dtype=np.float64)  # for a row that continues in the next chunk
    row: Number = 0
    value: Number = np.int64(0)
    table = _aligned_table(0)
    while row < len(firsts):
        row, value = fill_chunk(chunk, row, value, indptr, indices, data, firsts, places)
        columns = chunk.columns[: chunk.sizes[COLUMNS]]
        starts = np.empty((len(columns), 4), dtype=np.uint32)
        start_columns(columns, keys, starts)
        if len(table) < len(columns):
            table = _aligned_table(len(columns))
        for tile in range(n_tiles):
            first = tile * _TILE
            width = min(_TILE, n_hyperplanes - first)
            fill_table(starts, first, width, kind, threshold, pairs, table)
            _project_counts(table, chunk, first, width, hyperplanes, output)
            if chunk.sizes[SLICES]:
                _project_slices(table, chunk, indptr, data, sums[tile : tile + 1], first, width, hyperplanes, output)
        empty_chunk(chunk)


@inner
def _aligned_table(n_rows: Number) -> NDArray[np.int8]:
    """Allocate a table of coefficients with vectors that do not cross the border of a cache line."""
    memory = np.empty(n_rows * _TILE + _CACHE_LINE, dtype=np.int8)
    start = np.int64(-memory.ctypes.data % _CACHE_LINE)
    return memory[start : start + n_rows * _TILE].reshape(n_rows, _TILE)


@inner
def _project_counts(
    table: NDArray[np.int8], chunk: Chunk, first: Number, width: Number, hyperplanes: Hyperplanes, output: _Output
) -> None:
    """Project the rows of a few small counts on a tile."""
    entries, weights, counts = chunk.entries, chunk.weights, chunk.counts[: chunk.sizes[COUNTS]]
    sums = np.empty((_BATCH, _TILE), dtype=np.int16)
    rows = np.empty(_BATCH, dtype=np.int64)
    for begin in range(0, len(counts), _BATCH):
        n_rows = min(_BATCH, len(counts) - begin)
        for i in range(n_rows):
            rows[i], first_entry, last_entry = counts[begin + i, 0], counts[begin + i, 1], counts[begin + i, 2]
            if width == _TILE:
                add_rows_in_5(table, 0, entries, weights, first_entry, last_entry, sums, i * _TILE)
            else:
                for column in range(0, width, GROUP):
                    add_rows(table, column, entries, weights, first_entry, last_entry, sums, i * _TILE)
        _write(sums[:n_rows], rows, 1.0, first, width, hyperplanes, output)


@inner
def _project_slices(
    table: NDArray[np.int8],
    chunk: Chunk,
    indptr: NDArray[np.int64],
    data: NDArray[np.float64],
    sums: NDArray[np.float64],  # (1, _TILE)
    first: Number,
    width: Number,
    hyperplanes: Hyperplanes,
    output: _Output,
) -> None:
    """Project the slices of other rows on a tile: start or continue the sums of a row."""
    slices, segments = chunk.slices, chunk.segments
    segment = np.int64(0)
    for number in range(chunk.sizes[SLICES]):
        row, first_value, last_value = slices[number, 0], slices[number, 1], slices[number, 2]
        first_entry, last_segment = slices[number, 3], slices[number, 4]
        if first_value == indptr[row]:
            sums[:] = 0
        if last_segment < 0:
            entries = chunk.entries[first_entry : first_entry + last_value - first_value]
            _add_float64(table, entries, data[first_value:last_value], width, sums)
        else:
            _add_segments(table, width, chunk.entries, chunk.weights, segments[segment:last_segment], sums)
            segment = last_segment
        if last_value == indptr[row + 1]:
            _write(sums, slices[number], 1.0, first, width, hyperplanes, output)


@inner
def _add_segments(
    table: NDArray[np.int8],
    width: Number,
    entries: NDArray[np.int32],
    weights: NDArray[np.uint8],
    segments: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> None:
    """Add segments, each summed in 16 bits, times their factors: integers below 2**53, so this is exact."""
    sums_16 = np.zeros((1, _TILE), dtype=np.int16)
    for number in range(len(segments)):
        begin, end = np.int64(segments[number, 0]), np.int64(segments[number, 1])
        factor = np.float64(segments[number, 2])
        if width == _TILE:
            add_rows_in_5(table, 0, entries, weights, begin, end, sums_16, 0)
        else:
            for column in range(0, width, GROUP):
                add_rows(table, column, entries, weights, begin, end, sums_16, 0)
        for i in range(_TILE):
            sums[0, i] += np.float64(sums_16[0, i]) * factor


@inner
def _add_float64(
    table: NDArray[np.int8],
    rows: NDArray[np.int32],
    values: NDArray[np.float64],
    width: Number,
    sums: NDArray[np.float64],
) -> None:
    """Add products in the order of the columns, each rounded before it is added."""
    n_fours = len(rows) // 4 * 4
    for begin in range(0, n_fours, 4):
        row_0, row_1, row_2, row_3 = rows[begin], rows[begin + 1], rows[begin + 2], rows[begin + 3]
        value_0, value_1, value_2, value_3 = values[begin], values[begin + 1], values[begin + 2], values[begin + 3]
        for i in range(width):
            total = sums[0, i] + value_0 * np.float64(table[row_0, i])
            total += value_1 * np.float64(table[row_1, i])
            total += value_2 * np.float64(table[row_2, i])
            sums[0, i] = total + value_3 * np.float64(table[row_3, i])
    for at in range(n_fours, len(rows)):
        row, value = rows[at], values[at]
        for i in range(width):
            sums[0, i] += value * np.float64(table[row, i])


@compiled
def _project_google(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[np.float64],
    firsts: NDArray[np.int64],
    hyperplanes: Hyperplanes,
    output: _Output,
) -> None:
    seeds, n_hyperplanes = hyperplanes.seeds, len(hyperplanes.ties)
    sums = np.empty((1, n_hyperplanes), dtype=np.float64)
    for row in range(len(firsts)):
        if firsts[row] != row:
            continue
        begin, end = indptr[row], indptr[row + 1]
        size = 0.0
        for value in data[begin:end]:
            size += abs(value)
        if size == 0:
            firsts[row] = ZEROS
            continue
        sums[:] = 0
        _add_google(indices[begin:end], seeds, data[begin:end], sums[0])
        _write(sums, firsts[row : row + 1], size, 0, n_hyperplanes, hyperplanes, output)


@inner
def _add_google(
    columns: NDArray[Any], seeds: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.float64]
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
def _write(
    sums: NDArray[Any],  # (n_rows, width or more)
    rows: NDArray[np.int64],  # (n_rows or more,)
    divisor: float,
    first: Number,
    width: Number,
    hyperplanes: Hyperplanes,
    output: _Output,
) -> None:
    """Write the projections of rows on the hyperplanes from the first one."""
    form, bit_rows, sum_rows = output
    ties, scale = hyperplanes.ties, hyperplanes.scale
    begin, end = np.uint64(first), np.uint64(min(first + width, hyperplanes.n))
    if form == _PACKED:
        _write_packed(sums, rows, first, ties[first : np.int64(end)], bit_rows)
        return
    for number in range(len(sums)):
        row = rows[number]
        if form == _SUMS:
            for i in range(end - begin):
                scaled = np.float64(sums[number, i]) * scale
                sum_rows[row, begin + i] = np.float32(scaled if divisor == 1.0 else scaled / divisor)
            continue
        for i in range(end - begin):
            bit = np.uint8(sums[number, i] > 0) | (np.uint8(sums[number, i] == 0) & ties[begin + i])
            bit_rows[row, begin + i] = bit
        if form == _SIGNS:
            for i in range(begin, end):
                bit_rows[row, i] = np.uint8(np.uint8(bit_rows[row, i] << np.uint8(1)) - np.uint8(1))  # 255 is -1


@inner
def _write_packed(
    sums: NDArray[Any],
    rows: NDArray[np.int64],
    first: Number,
    ties: NDArray[np.uint8],  # of the hyperplanes from the first one
    bit_rows: NDArray[np.uint8],
) -> None:
    end = first + len(ties)
    bits = np.zeros(len(ties) + 7, dtype=np.uint8)  # bits after the last hyperplane stay 0
    eights = bits[: len(bits) // 8 * 8].view(np.uint64)
    for number in range(len(sums)):
        for i in range(len(ties)):
            bits[i] = np.uint8(sums[number, i] > 0) | (np.uint8(sums[number, i] == 0) & ties[i])
        out = bit_rows[rows[number], first // 8 : (end + 7) // 8]
        for i in range(len(out)):
            # The product moves the lowest bit of byte number k to bit 63 - k.
            out[i] = np.uint8((eights[i] * _TO_HIGHEST_BYTE) >> _HIGHEST_BYTE)


@compiled
def _copy_equal(firsts: NDArray[np.int64], out: NDArray[Any], zero: Number) -> None:
    """Write the projections of rows that are equal to others, and of rows of zeros: all bits are 0."""
    for row in range(len(firsts)):
        first = firsts[row]
        if first == ZEROS:
            out[row] = zero
        elif first != row:
            for i in range(np.uint64(out.shape[1])):
                out[row, i] = out[first, i]


@compiled
def first_equal_rows(
    indptr: NDArray[np.int64],  # (n_rows + 1,)
    indices: NDArray[Any],  # (n_values,)
    data: NDArray[np.float64],  # (n_values,)
) -> NDArray[np.int64]:  # (n_rows,)
    """Return for each row of a CSR matrix the first row that is equal to it, bit by bit."""
    n_rows, n_slots = len(indptr) - 1, 2
    while n_slots <= 2 * n_rows:
        n_slots *= 2
    firsts, slots = np.empty(n_rows, dtype=np.int64), in_huge_pages(np.empty(n_slots, np.int64))
    slots[:] = -1
    words = data.view(np.int64)
    mask = np.uint64(len(slots) - 1)
    for row in range(len(firsts)):
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])  # a signed index would be tested for its sign
        state = stop - start
        for i in range(start, stop):  # in any order, since columns ascend: no step depends on the previous one
            mixed = (np.uint64(indices[i]) * GAMMA) ^ np.uint64(words[i])
            state += (mixed ^ (mixed >> _HALF_WORD)) * GAMMA
        slot: Number = (state ^ (state >> _HALF_WORD)) & mask
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = firsts[row] = row
                break
            shift = np.uint64(indptr[other]) - start
            if np.uint64(indptr[other + 1]) - stop == shift:
                at: Number = start
                while at < stop and indices[at] == indices[at + shift] and words[at] == words[at + shift]:
                    at += np.uint64(1)
                if at == stop:
                    firsts[row] = other
                    break
            slot = (slot + np.uint64(1)) & mask
    return firsts
