"""Rows of tables grouped, summed, averaged and gathered, against numpy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._rows import (
    gather_rows,
    gather_windows,
    group_rows,
    mean_rows,
    row_lengths,
    sum_rows,
)

# On both sides of where a row number takes one digit more, and where there is no room for another
# bit.
SIZES = [1, 2, 3, 4096, 4097, 2**24, 2**24 + 1, 2**31 - 1]


def assert_grouped(rows, n_rows):
    rows = np.array(rows, dtype=np.int32)
    before = rows.copy()
    order, starts, distinct = group_rows(rows, n_rows)
    expected, first = np.unique(np.sort(rows), return_index=True)
    assert order.tolist() == np.argsort(rows, kind="stable").tolist()
    assert distinct.tolist() == expected.tolist()
    assert starts.tolist() == [*first.tolist(), len(rows)]
    assert (order.dtype, starts.dtype, distinct.dtype) == (np.int32, np.int64, np.int64)
    assert rows.tolist() == before.tolist()


@given(data=st.data(), n_rows=st.sampled_from(SIZES) | st.integers(1, 2**31 - 1))
def test_positions_are_sorted_by_row_and_keep_their_order(data, n_rows):
    row = (
        st.integers(0, min(n_rows - 1, 3))
        | st.integers(max(n_rows - 3, 0), n_rows - 1)
        | st.integers(0, n_rows - 1)
    )
    assert_grouped(data.draw(st.lists(row, max_size=60)), n_rows)


@pytest.mark.parametrize("n_rows", SIZES)
def test_groups_of_tables_of_any_size(n_rows):
    n_values = 20_000
    rows = np.random.default_rng(0).integers(0, n_rows, n_values)
    rows[: n_values // 2] %= 50  # some rows occur often
    rows[-1] = n_rows - 1
    assert_grouped(rows, n_rows)


@given(st.integers(0, 2**32 - 1), st.integers(0, 50), st.integers(1, 30), st.integers(1, 9))
def test_sums_of_equal_rows(seed, n_values, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_rows, n_values).astype(np.int32)
    values = rng.normal(size=(n_values, n_columns))
    distinct, sums = sum_rows(rows, values, n_rows)
    expected = np.zeros((n_rows, n_columns))
    np.add.at(expected, rows, values)
    assert distinct.tolist() == sorted(set(rows.tolist()))
    np.testing.assert_allclose(sums, expected[distinct], rtol=1e-12, atol=1e-12)


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=8),
    st.sampled_from([np.uint8, np.int8, np.float32]),
)
def test_means_of_groups(groups, dtype):
    table = (100 * np.random.default_rng(0).normal(size=(5, 7))).astype(np.int8).astype(dtype)
    values = np.array([row for group in groups for row in group], dtype=np.int64)
    means = mean_rows(table, Ragged(values, np.cumsum([0, *map(len, groups)])))
    assert means.dtype == np.float32
    for result, group in zip(means, groups, strict=True):
        expected = (
            np.mean([table[row].astype(np.float64) for row in group], axis=0)
            if group
            else np.zeros(7)
        )
        np.testing.assert_array_equal(result, np.float32(expected))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_means_do_not_overflow(dtype):
    top = np.iinfo(dtype).max
    rows = Ragged(np.zeros(300, dtype=np.int64), np.array([0, 300]))
    assert mean_rows(np.full((1, 3), top, dtype=dtype), rows).tolist() == [[top] * 3]


LENGTHS = [3, 0, 40, 1, 17, 0, 64]
INDPTR = np.cumsum([0, *LENGTHS])
INDICES = np.random.default_rng(0).integers(0, 2**31 - 1, INDPTR[-1])
DATA = np.random.default_rng(1).normal(size=INDPTR[-1])


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("value_dtype", [np.float32, np.float64])
@given(rows=st.lists(st.integers(0, len(LENGTHS) - 1), max_size=20))
def test_gathered_rows_are_the_rows_one_after_the_other(index_dtype, value_dtype, rows):
    data = DATA.astype(value_dtype)
    matrix = (INDICES.astype(index_dtype), data, INDPTR.astype(index_dtype))
    columns, values, offsets = gather_rows(
        *matrix, np.array(rows, dtype=np.int64), index_dtype=index_dtype
    )
    indices = [index for row in rows for index in range(INDPTR[row], INDPTR[row + 1])]
    assert columns.tolist() == INDICES[indices].tolist()
    assert values.tolist() == data[indices].astype(np.float32).tolist()
    assert offsets.tolist() == [sum(LENGTHS[row] for row in rows[:n]) for n in range(len(rows) + 1)]
    assert (columns.dtype, values.dtype, offsets.dtype) == (index_dtype, np.float32, np.int64)


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(1, 40), st.integers(0, 20))
def test_windows_are_slices_of_the_text(seed, width, n_words, n_rows):
    rng = np.random.default_rng(seed)
    inputs, targets = rng.integers(0, 99, (2, width + n_words)).astype(np.int32)
    positions = rng.integers(width, width + n_words, 7)
    rows = rng.integers(0, 7, n_rows)
    contexts, words = gather_windows(inputs, targets, positions, rows, width)
    assert contexts.shape == (n_rows, width)
    assert contexts.dtype == words.dtype == np.int64
    for context, word, row in zip(contexts, words, rows, strict=True):
        end = positions[row]
        assert context.tolist() == inputs[end - width : end].tolist()
        assert word == targets[end]


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6, width=32), max_size=20), max_size=6),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([np.float32, np.float64]),
)
def test_lengths_of_rows(rows, index_dtype, value_dtype):
    indptr = np.cumsum([0, *map(len, rows)], dtype=index_dtype)
    data = np.array([value for row in rows for value in row], dtype=value_dtype)
    expected = [math.hypot(*row) for row in rows]
    np.testing.assert_allclose(row_lengths(indptr, data), expected, rtol=1e-14)
