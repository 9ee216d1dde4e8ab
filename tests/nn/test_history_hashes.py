from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._hashing import history_hashes


def fmix32(value: int) -> int:
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) % 2**32
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) % 2**32
    return value ^ (value >> 16)


def by_hand(history: list[int], padding_id: int | None) -> list[int]:
    hashes, running = [], 0
    for length in range(1, len(history) + 1):
        running = fmix32((running * 0x9E3779B1 + history[-length] + 1) % 2**32)
        known = history[-length:]
        doubled = padding_id is not None and length > 1 and known[0] == known[1] == padding_id
        hashes.append(-1 if doubled else running)
    return hashes


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=4, max_size=4), max_size=5), st.sampled_from([None, 0]))
def test_hashes_by_hand(rows, padding_id):
    context = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
    assert history_hashes(context, padding_id).tolist() == [by_hand(row, padding_id) for row in rows]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_words_of_fewer_bits(dtype):
    context = torch.tensor([[9, 9, 4, 1], [250, 7, 7, 9]])
    assert torch.equal(history_hashes(context.to(dtype), padding_id=9), history_hashes(context, padding_id=9))


def test_padding_is_told_once():
    hashes = history_hashes(torch.tensor([[9, 9, 9, 1], [9, 9, 9, 9]]), padding_id=9)
    assert (hashes == -1).tolist() == [[False, False, True, True], [False, True, True, True]]


def test_few_histories_share_a_hash():
    context = torch.from_numpy(np.random.default_rng(0).integers(0, 10_000, (50_000, 4)))
    hashes = history_hashes(context)[:, 1:].flatten()
    assert len(hashes) - len(hashes.unique()) < 20  # 150,000 of 2**32: three by chance
    assert hashes.min() >= 0
    assert hashes.max() < 2**32


def test_a_history_of_one_word():
    assert history_hashes(torch.tensor([[3], [4]]), padding_id=3).min() >= 0
