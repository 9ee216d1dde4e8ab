"""Batches of windows for torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from sklearn_hashnlp.language._net import WindowBatches, WindowDataset
from sklearn_hashnlp.language._windows import WordWindows
from tests.language.tokenizers import ENCODERS, SENTENCE, make_tokenizer


def test_single_windows():
    windows = WindowDataset(make_tokenizer(order=3).read(["I have"]))
    assert [(*context.tolist(), target.item()) for context, target in windows] == [(9, 9, 0), (9, 0, 1), (0, 1, 7)]
    assert windows[-1][1].item() == windows[np.int64(2)][1].item() == 7
    context, target = next(iter(DataLoader(windows, batch_size=2)))
    assert (context.tolist(), target.tolist()) == ([[9, 9], [9, 0]], [0, 1])
    for outside in (3, -4):
        with pytest.raises(IndexError):
            windows[outside]


@given(st.integers(1, 40), st.integers(1, 50), st.booleans())
def test_batches_hold_every_window_once(n_windows, batch_size, shuffle):
    text = np.arange(n_windows + 1, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, n_windows + 1), np.array([0, n_windows]), 2)
    batches = WindowBatches(WindowDataset(windows), batch_size, shuffle=shuffle, generator=np.random.default_rng(0))
    parts = list(batches)
    assert len(parts) == len(batches)
    assert all(len(target) == batch_size for _, target in parts[:-1])
    targets = torch.cat([target for _, target in parts])
    assert torch.equal(targets, torch.cat([context for context, _ in parts])[:, 0] + 1)
    assert sorted(targets.tolist()) == text[1:].tolist()
    if not shuffle:
        assert targets.tolist() == text[1:].tolist()


def test_every_epoch_has_an_order_of_its_own():
    text = np.arange(100, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, 100), np.array([0, 99]), 2)
    batches = WindowBatches(WindowDataset(windows), 99, shuffle=True, generator=np.random.default_rng(0))
    (_, first), (_, second) = next(iter(batches)), next(iter(batches))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("word_encoder", [None, *ENCODERS])
def test_batches_on_a_device_are_the_same(word_encoder):
    windows = make_tokenizer(order=3, word_encoder=word_encoder).read([SENTENCE, "a dream"])
    dataset = WindowDataset(windows)
    on_device = WindowBatches(dataset, 4)._gather_on_device(np.arange(len(windows)))
    for batch, batch_on_device in zip(WindowBatches(dataset, 4), on_device, strict=True):
        assert all(map(torch.equal, batch, batch_on_device))
