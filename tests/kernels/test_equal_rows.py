import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._project_rows import first_equal_rows

ROWS = st.lists(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, 2.5])), max_size=3), max_size=40)


@given(ROWS)
def test_the_first_equal_row_is_found(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([column for row in rows for column, _ in row], dtype=np.int64)
    data = np.array([value for row in rows for _, value in row], dtype=np.float64)
    seen = {}
    expected = [seen.setdefault(repr(row), number) for number, row in enumerate(rows)]
    assert first_equal_rows(indptr, indices, data).tolist() == expected


def test_many_rows():
    rows = np.random.default_rng(0).integers(0, 500, 3000)
    found = first_equal_rows(np.arange(3001), rows, np.ones(3000))
    assert (rows[found] == rows).all()
    assert len(set(found.tolist())) == len(set(rows.tolist()))
