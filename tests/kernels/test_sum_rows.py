from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._rows import sum_rows


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_is_kept(dtype):
    assert sum_rows(np.array([1, 1], dtype=np.int32), np.ones((2, 3), dtype=dtype), 2)[1].dtype == dtype
