"""Rows of ids in both tables, and counts of rows, against recorded values and the hash functions in Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.kernels.embeddings._hash_ids import IMPROVED, PAPER, STANDARD, count_rows, locate_ids

from ...oracles import bags
from ...oracles.hashing import hash_slots

VARIANTS = IMPROVED, PAPER, STANDARD

# Of hash specification 2, for seed 0 and tables of 10**7 and 10**6 rows: computed with Python's integers.
KEYS = [0, 1, 2, 12345, 2**31 - 2, 2**31 - 1, 2**32 - 1]  # as in hash specification 1
WIDE_KEYS = [2**32, 2**32 + 1, 2**32 + 12345, 2**45 + 12345, 2**62 + 7, 2**63 - 1, -(2**63), -1]
GOLDEN_ROWS = [
    *(4315279, 6233184, 7236218, 8718409, 7592333, 5767861, 2727953),
    *(1251194, 5272029, 8945365, 1260796, 7760833, 6011808, 9518948, 708775),
]
GOLDEN_SLOTS = {
    IMPROVED: [
        [970881, 327325],
        [607178, 287607],
        [28981, 701022],
        [160539, 391967],
        [790732, 263098],
        [166247, 254753],
        [606312, 275101],
        [609711, 595985],
        [114657, 204855],
        [169753, 811994],
        [108457, 646991],
        [892160, 398621],
        [45330, 954252],
        [864055, 695796],
        [320724, 531291],
    ],
    PAPER: [
        [610767, 838025],
        [681763, 815478],
        [340583, 303516],
        [599077, 808079],
        [631756, 187068],
        [487549, 216790],
        [438462, 141945],
        [311970, 140894],
        [693696, 759357],
        [156479, 620318],
        [340506, 332561],
        [961195, 392224],
        [205135, 700648],
        [839519, 812248],
        [429328, 334320],
    ],
    STANDARD: [[row] for row in GOLDEN_ROWS],
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
    expected = ids[:, None] if variant == STANDARD else bags.locate_ids(ids, IMPROVED, 2, 1000, 10**6)[1]
    assert slots.tolist() == expected.tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_rows_and_slots(variant):
    for keys in (KEYS, KEYS + WIDE_KEYS):
        rows, slots = locate_ids(np.array(keys), constants_of(2), 10**7, 10**6, variant)
        assert rows.tolist() == GOLDEN_ROWS[: len(keys)]
        assert slots.tolist() == GOLDEN_SLOTS[variant][: len(keys)]
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
def test_rows_and_slots_are_those_of_the_hash_functions(ids, seed, n_hashes, n_rows, n_slots, variant):
    ids = np.array(ids, dtype=np.int64)
    rows, slots = locate_ids(ids, constants_of(n_hashes, seed), n_rows, n_slots, variant)
    expected_rows, expected_slots = bags.locate_ids(ids, variant, n_hashes, n_rows, n_slots, seed)
    assert rows.tolist() == expected_rows.tolist()
    assert slots.tolist() == expected_slots.tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rows_of_an_id_do_not_depend_on_the_other_ids(variant):
    ids = np.random.default_rng(0).integers(0, 2**32, 10_000)
    ids[5000] += 2**40
    rows, slots = locate_ids(ids, constants_of(2), 1000, 500, variant)
    expected_rows, expected_slots = bags.locate_ids(ids, variant, 2, 1000, 500)
    assert np.array_equal(rows, expected_rows)
    assert np.array_equal(slots, expected_slots)


def colliding_pairs(*columns):
    """Count the pairs of ids that have the same in each column, of values and their number."""
    keys = np.zeros(len(columns[0][0]), dtype=np.uint64)
    for values, n_values in columns:
        keys = keys * np.uint64(n_values) + values.astype(np.uint64)
    keys.sort()
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]])))
    return int((lengths * (lengths - 1) // 2).sum())


def test_no_two_of_two_million_random_ids_share_everything():
    ids = np.random.default_rng(0).integers(0, 2**62, 2_000_000)  # 473 pairs of them have the same low 32 bits
    rows, slots = locate_ids(ids, constants_of(2), 10**7, 10**6, IMPROVED)
    in_rows, *in_pool = (rows, 10**7), *((column, 10**6) for column in slots.T)
    assert colliding_pairs(in_rows, *in_pool) == 0  # expected: 2e-7
    for columns, n_choices in (([in_rows], 10**7), (in_pool, 10**12)):
        expected = len(ids) * (len(ids) - 1) / 2 / n_choices
        assert abs(colliding_pairs(*columns) - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ids", ["random", "pairs of numbers"])
def test_wide_ids_share_rows_as_often_as_the_formula_says(ids, seed):
    n_rows, n_slots, n_ids = 500, 40, 2**18
    numbers = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, n_ids)
    if ids == "pairs of numbers":
        numbers = (np.arange(512)[:, None] + np.arange(512) * 2**32).reshape(-1)
    for variant, n_choices in ((IMPROVED, n_rows * n_slots**2), (PAPER, n_rows), (STANDARD, n_rows)):
        rows, slots = locate_ids(numbers, constants_of(2, seed), n_rows, n_slots, variant)
        pairs = colliding_pairs((rows, n_rows), *((column, n_rows) for column in slots.T))
        expected = n_ids * (n_ids - 1) / 2 / n_choices
        assert abs(pairs - expected) < 4 * np.sqrt(expected)


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


def test_more_ids_than_rows_are_counted():
    rows, counts = count_rows(np.arange(100_000), CONSTANTS, 300)
    assert rows.tolist() == list(range(300))
    assert counts.sum() == 100_000
