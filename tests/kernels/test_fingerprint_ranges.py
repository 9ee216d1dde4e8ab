from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import N_RANGES, count_runs, range_sizes, scatter_ranges

WIDTH = 2**64 // N_RANGES
FINGERPRINTS = st.lists(
    st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, WIDTH - 1, WIDTH, 7 * WIDTH, 2**63 - 1, 2**63, 2**64 - 1]),
    max_size=50,
).map(lambda values: np.array(values, dtype=np.uint64))


@given(FINGERPRINTS)
def test_sizes_of_ranges(fingerprints):
    counted = Counter(value // WIDTH for value in fingerprints.tolist())
    assert range_sizes(fingerprints).tolist() == [counted[number] for number in range(N_RANGES)]


@given(FINGERPRINTS, st.integers(0, N_RANGES), st.integers(0, N_RANGES))
def test_some_ranges_are_brought_together(fingerprints, one, other):
    first, last = sorted((one, other))
    wanted = [value for value in fingerprints.tolist() if first <= value // WIDTH < last]
    sizes = range_sizes(fingerprints)
    begins = np.zeros(N_RANGES, dtype=np.int64)
    begins[first:last] = np.cumsum(sizes[first:last]) - sizes[first:last]
    places, room = begins.copy(), np.zeros(len(wanted), dtype=np.uint64)
    scatter_ranges(fingerprints, first, last, places, room)
    # Within a range, as they came.
    assert room.tolist() == sorted(wanted, key=lambda value: value // WIDTH)
    np.testing.assert_array_equal((places - begins)[first:last], sizes[first:last])


@given(FINGERPRINTS, st.integers(0, 3))
def test_runs_are_counted(fingerprints, above):
    fingerprints = np.sort(np.concatenate([fingerprints, fingerprints[::2], fingerprints[::3]]))
    values, counts = count_runs(fingerprints, above)
    counted = Counter(fingerprints.tolist())
    expected = sorted((value, count) for value, count in counted.items() if count > above)
    assert list(zip(values.tolist(), counts.tolist(), strict=True)) == expected
