"""The hash functions against Python's integers and recorded values, and the hashes of word histories."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION, hash_constants
from sklearn_hashnlp.nn._hashing import history_hashes, mix_ids, mix_tensor, slot_tensor

from ..oracles import hashing as oracle

KEYS = [0, 1, 2, 12345, 2**31 - 2, 2**31 - 1, 2**32 - 1]
SIZES = (10**7, 10**6, 2**31 - 1)
WIDE_KEYS = [2**32, 2**32 + 1, 2**32 + 12345, 2**45 + 12345, 2**62 + 7, 2**63 - 1, -(2**63), -1]
# Of specification 2, and the first of 1. If these change, so must it: stored models would read other rows.
GOLDEN = {
    0: [
        [4315279, 6233184, 7236218, 8718409, 7592333, 5767861, 2727953],
        [970881, 607178, 28981, 160539, 790732, 166247, 606312],
        [702926725, 617632387, 1505435411, 841744373, 565000219, 547079287, 590776763],
    ],
    2**40 + 7: [
        [7107768, 1836700, 5983220, 4562803, 2825373, 2688005, 6419575],
        [297673, 13960, 752764, 544165, 151242, 223965, 946508],
        [47081970, 1569890246, 1304461896, 182389114, 131040411, 1559557520, 453083939],
    ],
}
WIDE_GOLDEN = {
    0: [
        [1251194, 5272029, 8945365, 1260796, 7760833, 6011808, 9518948, 708775],
        [609711, 114657, 169753, 108457, 892160, 45330, 864055, 320724],
        [1279869671, 439924799, 1743745902, 1389404586, 856033021, 2049242328, 1494212071, 1140939891],
    ],
    2**40 + 7: [
        [8511126, 333889, 6785175, 5463752, 534160, 4700617, 191455, 5127617],
        [751748, 694223, 440977, 676835, 105690, 990127, 985324, 796710],
        [1279855741, 1995479594, 474841038, 1564563051, 291331719, 1230119366, 32070029, 452272419],
    ],
}


def hash_tensor(keys, constants, size):
    mixed, high = mix_ids(keys)
    return slot_tensor(mixed, constants, size, high)


def test_the_first_step_gives_published_values():
    # The hash of an empty input in MurmurHash3_x86_32 is fmix32 of its seed.
    published = {0: 0, 1: 0x514E28B7, 0xFFFFFFFF: 0x81F16F39}
    assert [oracle.fmix32(key) for key in published] == list(published.values())
    assert mix_tensor(torch.tensor(list(published))).tolist() == list(published.values())


@pytest.mark.parametrize("seed", GOLDEN)
def test_recorded_slots(seed):
    assert HASH_SPECIFICATION == 2
    for keys, golden in ((KEYS, GOLDEN), (WIDE_KEYS, WIDE_GOLDEN), (KEYS + WIDE_KEYS, None)):
        for i, (constants, size) in enumerate(zip(hash_constants(seed, 3), SIZES, strict=True)):
            expected = golden[seed][i] if golden else GOLDEN[seed][i] + WIDE_GOLDEN[seed][i]
            assert hash_tensor(torch.tensor(keys), constants, size).tolist() == expected
            assert [oracle.hash_slot(key, constants, size) for key in keys] == expected


def test_more_functions_begin_with_the_same_constants():
    assert hash_constants(7, 3)[:2] == hash_constants(7, 2)


@given(
    keys=st.lists(st.integers(0, 2**32 - 1), max_size=20) | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
    constants=st.tuples(*[st.integers(0, 2**64 - 1)] * 3),
    size=st.integers(1, 2**31 - 1),
)
def test_torch_and_plain_integers_agree(keys, constants, size):
    expected = [oracle.hash_slot(key, constants, size) for key in keys]
    assert hash_tensor(torch.tensor(keys, dtype=torch.int64), constants, size).tolist() == expected
    assert all(0 <= slot < size for slot in expected)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_the_dtype_of_the_keys_does_not_matter(name):
    dtype = np.dtype(name)
    smallest, largest = np.iinfo(dtype).min, np.iinfo(dtype).max
    keys = np.array([0, 5, largest, smallest], dtype=dtype)
    for constants in hash_constants(3, 4):
        expected = [oracle.hash_slot(int(key), constants, 2**31 - 1) for key in keys]
        slots = hash_tensor(torch.from_numpy(keys), constants, 2**31 - 1)
        assert slots.tolist() == expected
        assert slots.dtype == torch.int64


@pytest.mark.parametrize("name", ["float32", "float64", "bool", "complex64"])
def test_keys_that_are_no_integers_are_named(name):
    keys = np.zeros(3, dtype=name)
    with pytest.raises(TypeError, match=f"Ids must be integers, got a tensor of torch.{name}"):
        hash_tensor(torch.from_numpy(keys), (1, 2, 3), 10)


def test_pairs_collide_as_often_as_chance_over_the_family():
    # Strong universality: over random constants, any two keys collide in m slots with probability about 1 / m.
    m, n_functions = 10, 4000
    pairs = torch.tensor([(0, 1), (7, 7 + 2**31), (123456, 654321), (7, 7 + 2**32), (2**62, 2**61 + 5)])
    slots = torch.stack([hash_tensor(pairs, constants, m) for constants in hash_constants(11, n_functions)])
    for n_collisions in (slots[:, :, 0] == slots[:, :, 1]).sum(dim=0).tolist():
        assert abs(n_collisions - n_functions / m) < 4 * np.sqrt(n_functions / m)


def grid(low_stride, high_stride):
    return (torch.arange(100)[:, None] * low_stride + torch.arange(100) * high_stride).flatten()


STRUCTURED_IDS = {
    **{f"stride {n}": torch.arange(10_000) * n for n in (1, 2, 3, 1000, 4096, 65536, 99991, 2**18, 2**32, 2**45 + 3)},
    "pairs of numbers": grid(1, 2**32),
    "pairs of multiples": grid(2**20, 2**40),
    "around zero": torch.arange(-5000, 5000),
}


@pytest.mark.parametrize("ids", STRUCTURED_IDS)
def test_structured_ids_share_slots_as_often_as_chance_whatever_the_seed(ids):
    n, slots = 10_000, 10_000
    keys = STRUCTURED_IDS[ids]
    lost = [n - len(hash_tensor(keys, hash_constants(seed, 1)[0], slots).unique()) for seed in range(40)]
    one_empty, two_empty = (1 - 1 / slots) ** n, (1 - 2 / slots) ** n
    chance = n - slots * (1 - one_empty)
    sigma = np.sqrt(slots * one_empty + slots * (slots - 1) * two_empty - (slots * one_empty) ** 2)
    assert abs(np.median(lost) - chance) < sigma
    assert max(abs(count - chance) for count in lost) < 5 * sigma


@pytest.mark.gpu
def test_cuda_gives_the_same_slots():
    for keys in (torch.randint(0, 2**31 - 1, (100_000,)), torch.randint(-(2**63), 2**63 - 1, (100_000,))):
        for constants in hash_constants(9, 4):
            on_cpu = hash_tensor(keys, constants, 10**7)
            assert torch.equal(hash_tensor(keys.cuda(), constants, 10**7).cpu(), on_cpu)
    keys = torch.randint(0, 2**32, (100_000,))
    assert torch.equal(mix_ids(keys.cuda().to(torch.uint32))[0].cpu(), mix_ids(keys)[0])


WORD_IDS = st.sampled_from([0, 0, 1]) | st.integers(0, 2**31 - 1)


@given(st.integers(1, 4), st.lists(st.lists(WORD_IDS, min_size=4, max_size=4), max_size=5), st.sampled_from([None, 0]))
def test_hashes_of_histories(width, rows, padding_id):
    rows = [row[:width] for row in rows]
    context = torch.tensor(rows, dtype=torch.int64).reshape(-1, width)
    assert history_hashes(context, padding_id).tolist() == [oracle.history_hashes(row, padding_id) for row in rows]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_histories_of_any_integer_dtype(dtype):
    context = torch.tensor([[9, 9, 4, 1], [250, 7, 7, 9]])
    assert torch.equal(history_hashes(context.to(dtype), padding_id=9), history_hashes(context, padding_id=9))


def test_histories_read_32_bits_of_a_word():
    context = torch.tensor([[9, 2, 4, 1], [250, 7, 7, 2**31]])
    assert torch.equal(history_hashes(context + 3 * 2**32), history_hashes(context))
