"""Rows of ids in both tables, and counts of rows, against recorded values and the hash functions in
Python.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.embeddings._hash_ids import (
    IMPROVED,
    PAPER,
    STANDARD,
    count_rows,
    locate_ids,
)
from tests.oracles.hashing import hash_constants

from ...oracles import bags
from ...oracles.hashing import hash_slots

VARIANTS = IMPROVED, PAPER, STANDARD

# Of hash specification 2, for seed 0 and tables of 10**7 and 10**6 rows: computed with Python's
# integers.
KEYS = [0, 1, 2, 12345, 2**31 - 2, 2**31 - 1, 2**32 - 1]  # as in hash specification 1
WIDE_KEYS = [2**32, 2**32 + 1, 2**32 + 12345, 2**45 + 12345, 2**62 + 7, 2**63 - 1, -(2**63), -1]
GOLDEN_ROWS = [
    *(4315279, 6233184, 7236218, 8718409, 7592333, 5767861, 2727953),
    *(1251194, 5272029, 8945365, 1260796, 7760833, 6011808, 9518948, 708775),
]
GOLDEN_SLOTS = {  # in each table of the pool
    IMPROVED: [
        [
            *(970881, 607178, 28981, 160539, 790732, 166247, 606312),
            *(609711, 114657, 169753, 108457, 892160, 45330, 864055, 320724),
        ],
        [
            *(327325, 287607, 701022, 391967, 263098, 254753, 275101),
            *(595985, 204855, 811994, 646991, 398621, 954252, 695796, 531291),
        ],
    ],
    PAPER: [
        [
            *(610767, 681763, 340583, 599077, 631756, 487549, 438462),
            *(311970, 693696, 156479, 340506, 961195, 205135, 839519, 429328),
        ],
        [
            *(838025, 815478, 303516, 808079, 187068, 216790, 141945),
            *(140894, 759357, 620318, 332561, 392224, 700648, 812248, 334320),
        ],
    ],
    STANDARD: [GOLDEN_ROWS],
}


def constants_of(n_hashes, seed=0):
    return np.array(hash_constants(seed, n_hashes + 1), dtype=np.uint64)


@pytest.mark.parametrize("variant", VARIANTS)
def test_zeros_for_the_first_constants_leave_ids_as_they_are(variant):
    constants = constants_of(2)
    constants[0] = 0
    ids = np.array([0, 5, 999, 5])
    rows, slots = locate_ids(ids, constants, 1000, 10**6, variant)
    assert rows.tolist() == ids.tolist()
    expected = (
        ids[:, None] if variant == STANDARD else bags.locate_ids(ids, IMPROVED, 2, 1000, 10**6)[1]
    )
    assert slots.tolist() == expected.tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_rows_and_slots(variant):
    for keys in (KEYS, KEYS + WIDE_KEYS):
        rows, slots = locate_ids(np.array(keys), constants_of(2), 10**7, 10**6, variant)
        assert rows.tolist() == GOLDEN_ROWS[: len(keys)]
        assert slots.T.tolist() == [golden[: len(keys)] for golden in GOLDEN_SLOTS[variant]]
        assert (rows.dtype, slots.dtype) == (np.int32, np.int32)


@given(
    ids=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=20)
    | st.lists(st.integers(0, 2**32 - 1), max_size=20),
    seed=st.integers(0, 2**64 - 1),
    n_hashes=st.integers(1, 4),
    n_rows=st.integers(1, 2**31 - 1),
    n_slots=st.integers(1, 2**31 - 1),
    variant=st.sampled_from(VARIANTS),
)
def test_rows_and_slots_are_those_of_the_hash_functions(
    ids, seed, n_hashes, n_rows, n_slots, variant
):
    ids = np.array(ids, dtype=np.int64)
    rows, slots = locate_ids(ids, constants_of(n_hashes, seed), n_rows, n_slots, variant)
    expected_rows, expected_slots = bags.locate_ids(ids, variant, n_hashes, n_rows, n_slots, seed)
    assert rows.tolist() == expected_rows.tolist()
    assert slots.tolist() == expected_slots.tolist()


@given(
    columns=st.lists(st.integers(0, 2**31 - 1), max_size=20),
    n_columns=st.sampled_from([0, 20, 4097]),  # more than a block
    seed=st.integers(0, 2**64 - 1),
    n_hashes=st.integers(1, 4),
    is_hashed=st.booleans(),
    variant=st.sampled_from(VARIANTS),
)
def test_columns_of_32_bits_are_located_as_ids(
    columns, n_columns, seed, n_hashes, is_hashed, variant
):
    constants = constants_of(n_hashes, seed)
    constants[0] *= np.uint64(is_hashed)
    columns = np.resize(np.array(columns, dtype=np.int64), n_columns if columns else 0)
    arguments = constants, 2**31 - 1, 10**6, variant
    for found, expected in zip(
        locate_ids(columns.astype(np.int32), *arguments),
        locate_ids(columns, *arguments),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


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


def test_rows_of_ids_that_are_not_hashed_are_counted():
    rows, counts = count_rows(np.array([4, 0, 9, 4]), (0, 0), 10)
    assert (rows.tolist(), counts.tolist()) == ([0, 4, 9], [1, 2, 1])
