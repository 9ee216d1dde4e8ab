"""A hint to the memory changes nothing, wherever it points in the table."""

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._intrinsics import prefetch_row


@compiled
def sum_rows(table, rows):
    total = 0.0
    for row in rows:
        for column in range(table.shape[1]):
            total += table[row, column]
    return total


@compiled
def sum_rows_with_hints(table, rows):
    total = 0.0
    for at in range(len(rows)):
        prefetch_row(table, rows[min(at + 3, len(rows) - 1)])
        for column in range(table.shape[1]):
            total += table[rows[at], column]
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("row_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("width", [1, 3, 16, 17, 40])
def test_a_kernel_with_the_hint_gives_the_same(dtype, row_dtype, width):
    rng = np.random.default_rng(0)
    table = rng.integers(-99, 99, (50, width)).astype(dtype)
    before, rows = table.copy(), rng.integers(0, 50, 200).astype(row_dtype)
    rows[[0, -1]] = 49, 0
    assert sum_rows_with_hints(table, rows) == sum_rows(table, rows) == table[rows].sum(dtype=np.float64)
    assert sum_rows_with_hints(table, rows[:0]) == 0
    assert (table == before).all()
