import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._rows import gather_rows

LENGTHS = [3, 0, 40, 1, 17, 0, 64]
INDPTR = np.cumsum([0, *LENGTHS])
INDICES = np.random.default_rng(0).integers(0, 2**31 - 1, INDPTR[-1])
DATA = np.random.default_rng(1).normal(size=INDPTR[-1])


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("value_dtype", [np.float32, np.float64])
@given(rows=st.lists(st.integers(0, len(LENGTHS) - 1), max_size=20))
def test_gathered_rows_are_the_rows_one_after_the_other(index_dtype, value_dtype, rows):
    data = DATA.astype(value_dtype)
    columns, values, offsets = gather_rows(
        INDICES.astype(index_dtype), data, INDPTR.astype(index_dtype), np.array(rows, dtype=np.int64)
    )
    places = [place for row in rows for place in range(INDPTR[row], INDPTR[row + 1])]
    assert columns.tolist() == INDICES[places].tolist()
    assert values.tolist() == data[places].astype(np.float32).tolist()
    assert offsets.tolist() == [sum(LENGTHS[row] for row in rows[:n]) for n in range(len(rows) + 1)]
    assert (columns.dtype, values.dtype, offsets.dtype) == (np.int64, np.float32, np.int64)


def test_columns_come_out_in_the_type_asked_for():
    columns, _, _ = gather_rows(INDICES, DATA, INDPTR, np.array([2]), index_dtype=np.int32)
    assert columns.dtype == np.int32
    assert columns.tolist() == INDICES[3:43].tolist()
