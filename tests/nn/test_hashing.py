"""The hash functions against Python's integers and recorded values, and the hashes of word
histories.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION, hash_constants
from sklearn_hashnlp.nn._hashing import history_hashes, mix_ids, mix_tensor, slot_tensor

from ..kernels.embeddings.test_hash_ids import GOLDEN_ROWS, GOLDEN_SLOTS, IMPROVED, KEYS, WIDE_KEYS
from ..oracles import hashing as oracle


def hash_tensor(keys, constants, size):
    mixed, high = mix_ids(keys)
    return slot_tensor(mixed, constants, size, high)


def test_the_first_step_gives_published_values():
    # The hash of an empty input in MurmurHash3_x86_32 is fmix32 of its seed.
    published = {0: 0, 1: 0x514E28B7, 0xFFFFFFFF: 0x81F16F39}
    assert [oracle.fmix32(key) for key in published] == list(published.values())
    assert mix_tensor(torch.tensor(list(published))).tolist() == list(published.values())


@pytest.mark.parametrize("keys", [KEYS, KEYS + WIDE_KEYS], ids=["32 bits", "64 bits"])
def test_recorded_slots(keys):
    assert HASH_SPECIFICATION == 2
    recorded = [(GOLDEN_ROWS, 10**7), *((slots, 10**6) for slots in GOLDEN_SLOTS[IMPROVED])]
    for (expected, size), constants in zip(recorded, hash_constants(0, 3), strict=True):
        assert hash_tensor(torch.tensor(keys), constants, size).tolist() == expected[: len(keys)]
        assert [oracle.hash_slot(key, constants, size) for key in keys] == expected[: len(keys)]


def test_more_functions_begin_with_the_same_constants():
    assert hash_constants(7, 3)[:2] == hash_constants(7, 2)


@given(
    keys=st.lists(st.integers(0, 2**32 - 1), max_size=20)
    | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
    constants=st.tuples(*[st.integers(0, 2**64 - 1)] * 3),
    size=st.integers(1, 2**31 - 1),
)
def test_torch_and_plain_integers_agree(keys, constants, size):
    expected = [oracle.hash_slot(key, constants, size) for key in keys]
    assert hash_tensor(torch.tensor(keys, dtype=torch.int64), constants, size).tolist() == expected
    assert all(0 <= slot < size for slot in expected)


@pytest.mark.parametrize(
    "name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
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
    with pytest.raises(TypeError, match=f"ids must have an integer dtype, got torch.{name}"):
        hash_tensor(torch.from_numpy(keys), (1, 2, 3), 10)


@pytest.mark.gpu
def test_cuda_gives_the_same_slots():
    for keys in (
        torch.randint(0, 2**31 - 1, (100_000,)),
        torch.randint(-(2**63), 2**63 - 1, (100_000,)),
    ):
        for constants in hash_constants(9, 4):
            on_cpu = hash_tensor(keys, constants, 10**7)
            assert torch.equal(hash_tensor(keys.cuda(), constants, 10**7).cpu(), on_cpu)
    keys = torch.randint(0, 2**32, (100_000,))
    assert torch.equal(mix_ids(keys.cuda().to(torch.uint32))[0].cpu(), mix_ids(keys)[0])


WORD_IDS = st.sampled_from([0, 0, 1]) | st.integers(0, 2**31 - 1)


@given(
    st.integers(1, 4),
    st.lists(st.lists(WORD_IDS, min_size=4, max_size=4), max_size=5),
    st.sampled_from([None, 0]),
)
def test_hashes_of_histories(width, rows, padding_id):
    rows = [row[:width] for row in rows]
    context = torch.tensor(rows, dtype=torch.int64).reshape(-1, width)
    assert history_hashes(context, padding_id).tolist() == [
        oracle.history_hashes(row, padding_id) for row in rows
    ]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_histories_of_any_integer_dtype(dtype):
    context = torch.tensor([[9, 9, 4, 1], [250, 7, 7, 9]])
    assert torch.equal(
        history_hashes(context.to(dtype), padding_id=9), history_hashes(context, padding_id=9)
    )


def test_histories_read_32_bits_of_a_word():
    context = torch.tensor([[9, 2, 4, 1], [250, 7, 7, 2**31]])
    assert torch.equal(history_hashes(context + 3 * 2**32), history_hashes(context))
