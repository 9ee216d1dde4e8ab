"""Any matrix in its one form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import canonical_rows

DENSE = np.array([[0, 2, -1, 0], [0, 0, 0, 0], [3, 0, 0, 0.5]], dtype=np.float32)


@pytest.mark.parametrize("kind", [np.array, csr_array, csr_matrix])
def test_every_kind_comes_out_the_same(kind):
    rows = canonical_rows(kind(DENSE), any_scale=True)
    np.testing.assert_array_equal(rows.toarray(), DENSE)
    assert rows.indices.tolist() == [1, 2, 0, 3]


@given(
    entries=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-2.0, -1.0, 0.0, 0.5, 4.0])), max_size=12),
    cut=st.integers(0, 12),
)
def test_unsorted_columns_duplicates_and_zeros(entries, cut):
    cut = min(cut, len(entries))
    data = np.array([value for _, value in entries], dtype=np.float32)
    indices = np.array([column for column, _ in entries], dtype=np.int64)
    messy = csr_array((data, indices, np.array([0, cut, len(entries)])), shape=(2, 4))
    before = messy.data.copy(), messy.indices.copy()
    rows = canonical_rows(messy, any_scale=False)
    expected = np.zeros((2, 4), dtype=np.float32)
    for place, (column, value) in enumerate(entries):
        expected[int(place >= cut), column] += value
    np.testing.assert_array_equal(rows.toarray(), expected)
    assert rows.nnz == np.count_nonzero(expected)
    assert rows.has_canonical_format
    assert np.array_equal(before[0], messy.data)
    assert np.array_equal(before[1], messy.indices)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_rows_out_of_range_are_rescaled_and_only_if_that_is_allowed(scale):
    extreme = (DENSE * scale).astype(np.float32)
    if scale < 1:
        np.testing.assert_array_equal(canonical_rows(extreme, any_scale=False).toarray(), extreme)
    expected = DENSE / np.array([[2], [1], [3]])
    np.testing.assert_allclose(canonical_rows(extreme, any_scale=True).toarray(), expected, rtol=1e-6)
    last_empty = canonical_rows(np.vstack([extreme, np.zeros((2, 4), np.float32)]), any_scale=True)
    np.testing.assert_allclose(last_empty.toarray()[:3], expected, rtol=1e-6)


def test_a_row_that_is_rescaled_changes_no_other():
    values = np.random.default_rng(0).random((5, 4)).astype(np.float32)
    values[1] *= 1e30
    values[3] *= 1e-30
    values[4, 0] = 1e-30  # a small value beside ordinary ones is no reason to rescale
    rows = canonical_rows(values, any_scale=True).toarray()
    for ordinary in (0, 2, 4):
        assert rows[ordinary].tobytes() == values[ordinary].tobytes()
    for i in range(5):
        assert rows[i].tobytes() == canonical_rows(values[[i]], any_scale=True).toarray()[0].tobytes()


def test_a_row_that_cannot_be_rescaled_is_named():
    values = np.ones((3, 4), dtype=np.float32)
    values[2, 1] = -1e37
    with pytest.raises(ValueError, match=r"X has the value -1e\+37 in row 2, and normalize=None .* up to 1e\+15"):
        canonical_rows(values, any_scale=False)
    values[2, 1] = 1e15
    assert canonical_rows(values, any_scale=False).nnz == 12


def test_duplicates_that_add_up_to_infinity_are_refused():
    values = csr_array((np.full(2, 3e38, dtype=np.float32), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="the same row and column that add up to infinity"),
    ):
        canonical_rows(values, any_scale=True)


def test_columns_beyond_the_hash_functions_are_refused():
    wide = csr_array((np.ones(2, np.float32), np.array([0, 2**32]), np.array([0, 1, 2])), shape=(2, 2**34))
    with pytest.raises(ValueError, match=r"X has 17179869184 columns, .* make fewer, such as Hashing"):
        canonical_rows(wide, any_scale=True)
