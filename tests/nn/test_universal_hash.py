"""The hash functions against their definition, written plainly, and against recorded values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._universal_hash import HASH_SPECIFICATION, hash_array, hash_constants, hash_tensor, splitmix64

KEYS = [0, 1, 2, 12345, 2**31 - 2, 2**31 - 1, 2**32 - 1]
SIZES = (10**7, 10**6, 2**31 - 1)
# Of specification 1. If these change, so must HASH_SPECIFICATION: stored models would read other rows.
GOLDEN = {
    0: [
        [4315279, 3148388, 1981496, 9034553, 4053681, 2886789, 291407],
        [970881, 997315, 23749, 295792, 168085, 194518, 444589],
        [702926725, 931304506, 1159682287, 380605315, 588669762, 817047543, 1159546141],
    ],
    2**40 + 7: [
        [7107768, 4344174, 1580581, 547286, 3592680, 829087, 1786812],
        [297673, 13586, 729499, 241476, 125917, 841830, 101900],
        [47081970, 674311200, 1301540429, 1513374492, 803114002, 1430343231, 1293350074],
    ],
}


def plain_hash(key: int, constants: tuple[int, int], size: int) -> int:
    """Multiply, add, shift and reduce with Python's integers, which never overflow."""
    a, b = constants
    mixed = ((a * (key % 2**32) + b) % 2**64) // 2**32
    return mixed * size // 2**32


def test_splitmix64_gives_the_published_sequence():
    assert splitmix64(1234567, 5) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("seed", GOLDEN)
def test_recorded_slots(seed):
    assert HASH_SPECIFICATION == 1
    for constants, size, expected in zip(hash_constants(seed, 3), SIZES, GOLDEN[seed], strict=True):
        assert hash_array(np.array(KEYS), constants, size).tolist() == expected
        assert hash_tensor(torch.tensor(KEYS), constants, size).tolist() == expected
        assert [plain_hash(key, constants, size) for key in KEYS] == expected


@given(
    keys=st.lists(st.integers(0, 2**32 - 1), max_size=20),
    constants=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
    size=st.integers(1, 2**31 - 1),
)
def test_numpy_torch_and_plain_integers_agree(keys, constants, size):
    expected = [plain_hash(key, constants, size) for key in keys]
    assert hash_array(np.array(keys, dtype=np.uint32), constants, size).tolist() == expected
    assert hash_tensor(torch.tensor(keys, dtype=torch.int64), constants, size).tolist() == expected
    assert all(0 <= slot < size for slot in expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_the_dtype_of_the_keys_does_not_matter(dtype):
    constants = hash_constants(3, 1)[0]
    keys = np.array([0, 5, 2**31 - 1], dtype=dtype)
    assert hash_array(keys, constants, 1000).tolist() == [plain_hash(int(key), constants, 1000) for key in keys]


def test_pairs_collide_as_often_as_chance_over_the_family():
    # Strong universality: over random constants, any two keys meet in m slots with probability about 1 / m.
    m, n_functions = 10, 4000
    pairs = [(0, 1), (7, 7 + 2**31), (123456, 654321)]
    constants = hash_constants(11, n_functions)
    for first, second in pairs:
        slots = [hash_array(np.array([first, second]), pair, m) for pair in constants]
        meetings = sum(int(slot[0] == slot[1]) for slot in slots)
        assert abs(meetings - n_functions / m) < 4 * np.sqrt(n_functions / m)


def test_slots_are_spread_evenly():
    counts = np.bincount(hash_array(np.arange(100_000), hash_constants(5, 1)[0], 50), minlength=50)
    assert counts.min() > 1500
    assert counts.max() < 2500


@pytest.mark.gpu
def test_cuda_gives_the_same_slots():
    keys = torch.randint(0, 2**31 - 1, (100_000,))
    for constants in hash_constants(9, 4):
        on_cpu = hash_tensor(keys, constants, 10**7)
        assert torch.equal(hash_tensor(keys.cuda(), constants, 10**7).cpu(), on_cpu)
