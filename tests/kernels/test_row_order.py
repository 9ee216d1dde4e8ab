"""Rows brought together, against numpy's stable sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._rows import group_rows

# On both sides of where a row number takes one digit more, and where there is no room for another bit.
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
def test_places_are_sorted_by_row_and_keep_their_order(data, n_rows):
    row = st.integers(0, min(n_rows - 1, 3)) | st.integers(max(n_rows - 3, 0), n_rows - 1) | st.integers(0, n_rows - 1)
    assert_grouped(data.draw(st.lists(row, max_size=60)), n_rows)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_values", [0, 1, 20_000])
def test_tables_of_any_size(n_rows, n_values):
    rows = np.random.default_rng(0).integers(0, n_rows, n_values)
    rows[: n_values // 2] %= 50  # some rows occur often
    if n_values:
        rows[-1] = n_rows - 1
    assert_grouped(rows, n_rows)


def test_the_same_rows_give_the_same_bytes():
    rows = np.random.default_rng(0).integers(0, 300, 5000).astype(np.int32)
    first, second = ([part.tobytes() for part in group_rows(rows, 300)] for _ in range(2))
    assert first == second
