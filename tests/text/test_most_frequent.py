from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.text import _most_frequent
from sklearn_hashnlp.text._most_frequent import most_frequent

PARTS = st.lists(
    st.lists(
        st.integers(0, 2**64 - 1) | st.integers(0, 15).map(lambda i: i << 60 | i), max_size=60
    ),
    max_size=6,
)


def pieces(part):
    """Return a part's fingerprints in two pieces."""
    values = np.array(part, dtype=np.uint64)
    yield values[: len(values) // 3]
    yield values[len(values) // 3 :]


def by_hand(parts, max_results):
    counted = Counter(value for part in parts for value in part)
    best = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:max_results]
    return [value for value, _ in best], [count for _, count in best]


@given(
    parts=PARTS,
    max_results=st.sampled_from([1, 2, 3, 10, 1000]),
    max_memory=st.sampled_from([1, 150, 400, 1000, 2**31]),
    n_threads=st.sampled_from([1, 3]),
)
def test_the_most_frequent_are_found_in_any_memory_by_any_threads(
    parts, max_results, max_memory, n_threads
):
    with pytest.MonkeyPatch.context() as patch:
        # what is not frequent enough is dropped early
        patch.setattr(_most_frequent, "_MIN_DROP", 4)
        patch.setattr(_most_frequent, "_BYTES_PER_RESULT", 16)
        result = most_frequent(
            lambda: iter(parts),
            pieces,
            max_results=max_results,
            max_memory=max_memory,
            n_threads=n_threads,
        )
    assert tuple(array.tolist() for array in result) == by_hand(parts, max_results)


def test_a_pass_counts_what_memory_holds_and_a_64th_of_all_at_the_least(monkeypatch):
    rng = np.random.default_rng(0)
    parts = [rng.integers(2**64, size=5000, dtype=np.uint64) for _ in range(4)]
    parts[2][::3] = parts[0][7]  # no range can be parted, however large
    lengths = []
    fill = _most_frequent._fill

    def watched(room, *rest):
        ends = fill(room, *rest)
        lengths.append((ends[-1], len(room)))
        return ends

    monkeypatch.setattr(_most_frequent, "_fill", watched)
    for max_memory, most, n_passes in (
        (1, 20_000 // 64, 60),
        (8 * 6000 + 100 * 10, 6000, 4),
        (2**30, 20_000, 1),
    ):
        lengths.clear()
        result = most_frequent(
            lambda: parts,
            lambda part: iter([part]),
            max_results=10,
            max_memory=max_memory,
            n_threads=2,
        )
        assert result[1][0] == 1668
        assert result[1].tolist()[1:] == [1] * 9
        sizes, rooms = zip(*lengths, strict=True)
        assert sum(sizes) == 20_000
        assert all(size <= max(most, 1668 + 10) for size in sizes)
        assert set(rooms) == {max(sizes)}
        assert n_passes <= len(sizes) <= 1.1 * n_passes


@pytest.mark.parametrize("second", [[1, 2], [1, 2, 3, 4], [1, 2, 2**63]])
def test_other_fingerprints_the_second_time_are_noticed(second):
    times = iter([[1, 2, 3], second])
    with pytest.raises(RuntimeError, match="The texts changed while their n-grams were counted"):
        most_frequent(lambda: [next(times)], pieces, max_results=5, max_memory=2**30, n_threads=1)
