"""Contexts that hold words before the window, within a sentence or across sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.language._net import WindowBatches, WindowDataset
from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import Vocabulary
from sklearn_hashnlp.language._windows import FarContext
from tests.language.tokenizers import ENCODERS, WORDS, contexts_of, spelled

PADDING = st.sampled_from(["full", "reference"])
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS[:7]), max_size=5), max_size=5)


def make_tokenizer(order, padding, far, word_encoder=None):
    return Tokenizer(Vocabulary(WORDS), None, order, padding, word_encoder, "Model", far)


def far_windows(sentences, order, padding, far):
    """Walk through the text, and look back from each word."""
    n_start = order - 1 if padding == "full" else 1
    text, rows = [], []
    for words in sentences:
        sentence = ["<s>"] * n_start
        for word in [*words, "</s>"]:
            before = [*text, *sentence] if far.across_sentences else sentence
            width = far.n_words + order - 1
            if len(sentence) >= order - 1:
                rows.append(" ".join([*(["<s>"] * width + before)[-width:], word]))
            sentence.append(word)
        text += sentence
    return rows


@given(SENTENCES, st.integers(2, 4), PADDING, st.integers(1, 9), st.booleans())
def test_windows_with_a_far_context(sentences, order, padding, n_words, across):
    far = FarContext(n_words, across)
    windows = make_tokenizer(order, padding, far).read(sentences)
    assert spelled(windows) == far_windows(sentences, order, padding, far)
    some = windows.select(np.arange(len(sentences)) % 2 == 0)
    assert set(spelled(some)) <= set(spelled(windows))


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("word_encoder", [None, *ENCODERS])
def test_contexts_of_beginnings_are_those_of_the_text(word_encoder, across):
    tokenizer = make_tokenizer(3, "full", FarContext(4, across), word_encoder)
    sentences = [["I", "have", "a", "zebra"], [], ["a", "dream", "that", "one", "day", "I"]]
    windows = tokenizer.read(sentences)
    beginnings, before = [], []
    for words in sentences:
        beginnings += [before + words[:end] for end in range(len(words) + 1)]
        if across:
            before = [*before, *words, "</s>"]
    assert tokenizer.encode_contexts(beginnings).tolist() == contexts_of(windows)
    dataset = WindowDataset(windows)
    on_device = WindowBatches(dataset, 4)._gather_on_device(np.arange(len(windows)))
    assert [row for context, _ in on_device for row in context.tolist()] == contexts_of(windows)


def test_a_tokenizer_is_stored():
    tokenizer = make_tokenizer(3, "full", FarContext(4, True))
    values, arrays = tokenizer.to_state()
    assert Tokenizer.from_state(values, arrays, order=3, caller="Model").far == FarContext(4, True)
    assert "far_context" not in make_tokenizer(3, "full", FarContext()).to_state()[0]


def test_windows_of_ids_have_no_far_context():
    tokenizer = Tokenizer(Vocabulary(WORDS), np.arange(9, dtype=np.int32), 3, "full", None, "Model", FarContext(4))
    with pytest.raises(ValueError, match=r"Model\(far_context=4\) needs sentences"):
        tokenizer.read(lambda: iter([(0, 1, 2)]))
