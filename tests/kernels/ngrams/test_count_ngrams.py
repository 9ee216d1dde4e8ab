"""Counts of hashes against dictionaries and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import L1, L2, NO_NORM, count_hashes

from ...oracles import ngrams

INT32 = st.integers(-(2**31), 2**31 - 1)
CLOSE = st.sampled_from([-(2**31), -(2**31) + 1, -2, -1, 0, 1, 2, 2**31 - 1])


def ragged(rows: list[list[int]]) -> Ragged:
    values = np.array([value for row in rows for value in row], dtype=np.int32)
    return Ragged(values, np.cumsum([0, *map(len, rows)], dtype=np.int64))


@given(
    st.lists(st.lists(INT32 | CLOSE, max_size=60), max_size=6),
    st.sampled_from([1, 2, 3, 7, 2**20, 2**20 + 1, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1])
    | st.integers(1, 2**31 - 1),
    st.booleans(),
    st.booleans(),
)
def test_counts_as_a_dictionary_does(rows, n_features, alternate_sign, binary):
    indices, data, indptr = count_hashes(
        ragged(rows), n_features=n_features, alternate_sign=alternate_sign, binary=binary
    )
    assert (indices.tolist(), data.tolist(), indptr.tolist()) == ngrams.count_hashes(
        rows, n_features, alternate_sign, binary
    )


@pytest.mark.parametrize("size", [11, 12, 13, 4095, 4096, 4097, 20_000])
@pytest.mark.parametrize(
    ("n_features", "n_distinct"), [(1, 7), (5, 10**9), (2**20, 7), (2**31 - 1, 10**9), (1000, 1)]
)
def test_rows_of_any_size_and_any_repetition(size, n_features, n_distinct):
    rng = np.random.default_rng(size)
    pool = rng.integers(-(2**31), 2**31, size=min(n_distinct, size))
    rows = [rng.choice(pool, size=size).tolist(), [3], rng.choice(pool, size=size).tolist()]
    indices, data, indptr = count_hashes(ragged(rows), n_features=n_features, alternate_sign=True)
    assert (indices.tolist(), data.tolist(), indptr.tolist()) == ngrams.count_hashes(
        rows, n_features, True, False
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("norm", "name"), [(L1, "l1"), (L2, "l2"), (NO_NORM, None)])
@pytest.mark.parametrize("repetitions", [5, 10_001])
def test_norms_are_scikit_learns_to_the_last_bit(norm, name, dtype, repetitions):
    # Ten thousand repetitions have squares that float32 must round.
    rng = np.random.default_rng(0)
    rows = [
        np.repeat(
            rng.integers(-(2**31), 2**31, size=9), rng.integers(1, repetitions + 1, 9)
        ).tolist(),
        [],
        [-5, 5],
    ]
    data = count_hashes(ragged(rows), n_features=1000, alternate_sign=True, norm=norm, dtype=dtype)[
        1
    ]
    plain = ngrams.count_hashes(rows, 1000, True, False)
    expected = csr_matrix((np.array(plain[1], dtype=dtype), plain[0], plain[2]), shape=(3, 1000))
    if name is not None:
        expected = normalize(expected, norm=name)
    assert data.dtype == expected.dtype == dtype
    np.testing.assert_array_equal(data, expected.data)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 0), (np.float64, 2.3e-16)])
def test_damped_counts_have_the_logarithms_of_the_standard_library(dtype, tolerance):
    # Above and below the 4,096 hashes of a row.
    sizes = [[1, 2, 3, 1000, 3000], [1, 2, 3000, 4000], [4096], [4097], [9, 20_000], []]
    rows = [np.repeat(np.arange(len(counts)), counts).tolist() for counts in sizes]
    data = count_hashes(ragged(rows), n_features=1000, damped=True, dtype=dtype)[1]
    expected = [1 + math.log(count) for counts in sizes for count in counts]
    assert data.dtype == dtype
    np.testing.assert_allclose(data, np.array(expected, dtype=dtype), rtol=tolerance, atol=0)


@given(st.integers(1, 2**31 - 1) | st.integers(1, 1000))
def test_multiples_of_the_number_of_columns_and_their_neighbours(n_features):
    largest = (2**31 - 1) // n_features
    multiples = [
        n_features * k
        for k in {*range(1, min(largest, 300) + 1), *range(max(1, largest - 300), largest + 1)}
    ]
    values = [m + d for m in multiples for d in (-1, 0, 1) if m + d < 2**31]
    indices = count_hashes(ragged([[value] for value in values]), n_features=n_features)[0]
    assert indices.tolist() == [value % n_features for value in values]
