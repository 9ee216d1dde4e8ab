"""Batches of windows for torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from sklearn_hashnlp.language._batches import WindowBatches, WindowDataset
from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import Vocabulary
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.language._word_codes import HashEncoder, ProjectionEncoder

WORDS = ["I", "have", "a", "dream", "that", "one", "day", "</s>", "<unk>"]


SENTENCE = "I have a dream that one day"


PROJECTED = ProjectionEncoder(5, 14, seed=3)


OPEN = [HashEncoder(), PROJECTED]


def reader(order=5, padding="full", word_encoder=None, id_map=None, vocabulary=None):
    return Tokenizer(vocabulary or Vocabulary(WORDS), id_map, order, padding, word_encoder, "Model")


def test_single_windows():
    windows = WindowDataset(reader(order=3).read(["I have"]))
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
    found = list(batches)
    assert len(found) == len(batches)
    assert all(len(target) == batch_size for _, target in found[:-1])
    targets = torch.cat([target for _, target in found])
    assert torch.equal(targets, torch.cat([context for context, _ in found])[:, 0] + 1)
    assert sorted(targets.tolist()) == text[1:].tolist()
    if not shuffle:
        assert targets.tolist() == text[1:].tolist()


def test_every_pass_has_an_order_of_its_own():
    text = np.arange(100, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, 100), np.array([0, 99]), 2)
    batches = WindowBatches(WindowDataset(windows), 99, shuffle=True, generator=np.random.default_rng(0))
    (_, first), (_, second) = next(iter(batches)), next(iter(batches))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("word_encoder", [None, *OPEN])
def test_batches_elsewhere_are_the_same(word_encoder):
    windows = reader(order=3, word_encoder=word_encoder).read([SENTENCE, "a dream"])
    there = WindowBatches(WindowDataset(windows), 4)
    for (context, target), (context_there, target_there) in zip(
        WindowBatches(WindowDataset(windows), 4), there._gather_on_device(np.arange(len(windows))), strict=True
    ):
        assert torch.equal(context, context_there)
        assert torch.equal(target, target_there)
