import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import Ragged, find_fingerprints, fingerprint_slots

# The slot follows from the last bits: these meet in one slot, and in the last one, from where the search goes round.
FINGERPRINTS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**64 - 1, *(i << 32 | 63 for i in range(8))])


@given(
    known=st.lists(FINGERPRINTS, unique=True, max_size=40),
    rows=st.lists(st.lists(FINGERPRINTS, max_size=10), max_size=5),
    seed=st.integers(0, 3),
)
def test_what_is_known_is_found_and_what_is_not_is_dropped(known, rows, seed):
    rng = np.random.default_rng(seed)
    rows = [row + [known[i] for i in rng.integers(len(known), size=5)] if known else row for row in rows]
    values = np.array([value for row in rows for value in row], dtype=np.uint64)
    array = np.array(known, dtype=np.uint64)
    found = find_fingerprints(Ragged(values, np.cumsum([0, *map(len, rows)])), array, fingerprint_slots(array))
    expected = [[known.index(value) for value in row if value in known] for row in rows]
    assert found.values.dtype == np.int32
    assert [row.tolist() for row in np.split(found.values, found.offsets[1:-1])][: len(rows)] == expected
    assert len(found.offsets) == len(rows) + 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 1000, 1024, 1025])
def test_no_table_is_more_than_half_full(n):
    slots = fingerprint_slots(np.arange(n, dtype=np.uint64))
    assert np.count_nonzero(slots >= 0) == n
    assert len(slots) >= max(2 * n, 2)
    assert len(slots).bit_count() == 1
