"""Products of sparse and dense matrices, and hashes of pairs, against sums one by one."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from sklearn_hashnlp.kernels.linear._sparse_products import add_product, pair_fingerprints
from tests.oracles.hashing import splitmix64


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 7), st.integers(1, 20))
def test_products(seed, n_rows, n_columns, width):
    rng = np.random.default_rng(seed)
    matrix = random_array(
        (n_rows, n_columns), density=0.4, format="csr", dtype=np.float32, random_state=rng
    )
    dense, before = (rng.normal(size=(n, width)).astype(np.float32) for n in (n_columns, n_rows))
    expected = before.astype(np.float64)
    for row in range(n_rows):
        for at in range(matrix.indptr[row], matrix.indptr[row + 1]):
            expected[row] += np.float64(matrix.data[at]) * dense[matrix.indices[at]]
    out = before.copy()
    add_product(matrix.indptr, matrix.indices, matrix.data, dense, out)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), max_size=5))
def test_pairs(rows):
    words = np.random.default_rng(0).integers(0, 2**64, 5, dtype=np.uint64, endpoint=False)
    ids = np.array([id_ for row in rows for id_ in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    pairs, ends = pair_fingerprints(words, ids, offsets)
    assert np.diff(ends).tolist() == [max(len(row) - 1, 0) for row in rows]
    words, expected = words.tolist(), []
    for left, right in (pair for row in rows for pair in pairwise(row)):
        [inner] = splitmix64(words[left], 1)
        # the generator adds this first
        expected += splitmix64((inner ^ words[right]) - 0x9E3779B97F4A7C15, 1)
    assert pairs.tolist() == expected
