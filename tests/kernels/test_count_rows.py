from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._hash_ids import count_rows
from sklearn_hashnlp.nn._hashing import hash_constants

from ..oracles.hashing import hash_slots

CONSTANTS = hash_constants(3, 1)[0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(
    ids=st.lists(st.integers(0, 5) | st.integers(0, 2**31 - 1), max_size=100),
    n_rows=st.sampled_from([1, 2, 7, 1000, 10**6]),
)
def test_rows_are_counted_as_a_dictionary_does(dtype, ids, n_rows):
    ids = np.array(ids, dtype=dtype)
    rows, counts = count_rows(ids, CONSTANTS, n_rows)
    expected = sorted(Counter(hash_slots(ids, CONSTANTS, n_rows).tolist()).items())
    assert list(zip(rows.tolist(), counts.tolist(), strict=True)) == expected


def test_zeros_for_constants_leave_ids_as_they_are():
    rows, counts = count_rows(np.array([4, 0, 9, 4]), (0, 0), 10)
    assert (rows.tolist(), counts.tolist()) == ([0, 4, 9], [1, 2, 1])


def test_more_ids_than_rows():
    rows, counts = count_rows(np.arange(100_000), CONSTANTS, 300)
    assert rows.tolist() == list(range(300))
    assert counts.sum() == 100_000
