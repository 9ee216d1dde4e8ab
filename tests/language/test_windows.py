"""Windows of words, with words before them as well, and their batches, against windows by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from sklearn_hashnlp.language._corpus import ProjectionEncoder
from sklearn_hashnlp.language._language_net import WindowDataset
from sklearn_hashnlp.language._tokenizer import FarContext, Tokenizer, WordWindows, sentence_windows
from sklearn_hashnlp.training._batches import Batches
from tests.language.tokenizers import (
    ENCODERS,
    PROJECTION_ENCODER,
    WORDS,
    contexts_of,
    make_tokenizer,
    spelled,
)
from tests.oracles.language import reference_windows, windows_of

SENTENCE_OF_LETTERS = st.lists(st.sampled_from("abc"), max_size=7)
ORDERS = st.integers(2, 6)
NUMBERS = np.arange(101, dtype=np.int32)
PAIRS = WordWindows(NUMBERS, NUMBERS, np.arange(1, 101), np.array([0, 100]), 2)


@given(SENTENCE_OF_LETTERS, ORDERS)
def test_reference_padding_equals_the_reference_implementation(
    words: list[str], order: int
) -> None:
    windows = sentence_windows(words, order=order, padding="reference")
    assert [(*context, word) for context, word in windows] == list(
        reference_windows(" ".join(words), order)
    )


@given(SENTENCE_OF_LETTERS, ORDERS)
def test_full_padding_predicts_every_word(words: list[str], order: int) -> None:
    windows = sentence_windows(" ".join(["<s>", *words, "</s>"]), order=order, padding="full")
    assert [" ".join([*context, word]) for context, word in windows] == windows_of(
        words, order, "full"
    )


def far_windows(sentences, order, padding, far):
    """Walk through the text, and look back from each word."""
    n_start = order - 1 if padding == "full" else 1
    text, rows = [], []
    for words in sentences:
        rows.append([])
        sentence = ["<s>"] * n_start
        for word in [*words, "</s>"]:
            before = [*text, *sentence] if far.across_sentences else sentence
            width = far.n_words + order - 1
            if len(sentence) >= order - 1:
                rows[-1].append(" ".join([*(["<s>"] * width + before)[-width:], word]))
            sentence.append(word)
        text += sentence
    return rows


@given(
    st.lists(st.lists(st.sampled_from(WORDS[:7]), max_size=6), max_size=6),
    ORDERS,
    st.sampled_from(["full", "reference"]),
    st.builds(FarContext, st.integers(0, 9), st.booleans()),
)
def test_windows_by_hand(sentences, order, padding, far):
    windows = make_tokenizer(order, padding, far=far).read(sentences)
    expected = far_windows(sentences, order, padding, far)
    if not far.n_words:
        assert expected == [windows_of(words, order, padding) for words in sentences]
    assert spelled(windows) == [row for rows in expected for row in rows]
    assert np.diff(windows.offsets).tolist() == [len(rows) for rows in expected]
    mask = np.array([len(sentence) % 2 == 0 for sentence in sentences], dtype=bool)
    part = windows.select(mask)
    assert spelled(part) == [
        row for rows, selected in zip(expected, mask, strict=True) if selected for row in rows
    ]
    assert part.offsets[-1] == len(part)


@pytest.mark.parametrize(("n_words", "across"), [(0, False), (4, False), (4, True)])
@pytest.mark.parametrize("word_encoder", [None, *ENCODERS])
def test_contexts_of_beginnings_are_those_of_the_text(word_encoder, n_words, across):
    tokenizer = make_tokenizer(3, word_encoder=word_encoder, far=FarContext(n_words, across))
    sentences = [["I", "have", "a", "zebra"], [], ["a", "dream", "that", "one", "day", "I"]]
    windows = tokenizer.read(sentences)
    beginnings, before = [], []
    for words in sentences:
        beginnings += [before + words[:end] for end in range(len(words) + 1)]
        if across:
            before = [*before, *words, "</s>"]
    assert tokenizer.encode_contexts(beginnings).tolist() == contexts_of(windows)
    dataset, rows = WindowDataset(windows), torch.arange(len(windows))
    assert all(
        map(torch.equal, dataset.take(rows.numpy()), dataset.on_device(torch.device("cpu"))(rows))
    )


def test_a_far_context_is_stored_and_needs_sentences():
    values, arrays = make_tokenizer(3, far=FarContext(4, True)).to_state()
    assert Tokenizer.from_state(values, arrays, order=3, caller="Model").far == FarContext(4, True)
    assert "far_context" not in make_tokenizer(3).to_state()[0]
    tokenizer = make_tokenizer(3, id_map=np.arange(9, dtype=np.int32), far=FarContext(4))
    with pytest.raises(ValueError, match=r"Model\(far_context=4\) needs sentences"):
        tokenizer.read(lambda: iter([(0, 1, 2)]))


@pytest.mark.parametrize("word_encoder", ENCODERS)
@pytest.mark.parametrize("padding", ["full", "reference"])
def test_encoded_contexts_tell_unknown_words_apart(word_encoder, padding):
    windows = make_tokenizer(order=3, padding=padding, word_encoder=word_encoder).read(
        ["I zebra", "zebra zebu"]
    )
    contexts, y = windows.take(np.arange(len(windows)))
    start, me, zebra, zebu = word_encoder.encode(["<s>", "I", "zebra", "zebu"]).tolist()
    expected = [([start, start], 0), ([start, me], 8), ([me, zebra], 7)]
    expected += [([start, start], 8), ([start, zebra], 8), ([zebra, zebu], 7)]
    if padding == "reference":
        expected = [pair for pair in expected if pair[0] != [start, start]]
    assert list(zip(contexts.tolist(), y.tolist(), strict=True)) == expected


@pytest.mark.parametrize("word_encoder", ENCODERS)
def test_encoded_contexts_of_parts_of_a_corpus(word_encoder):
    windows = make_tokenizer(order=3, word_encoder=word_encoder).read(["I zebra", "", "zebra zebu"])
    contexts = contexts_of(windows)
    assert contexts_of(windows.select(np.array([False, True, True]))) == contexts[3:]
    assert contexts_of(windows.evenly_spaced(2)) == [contexts[0], contexts[-1]]
    assert WindowDataset(windows)[1][0].tolist() == contexts[1]
    assert PAIRS.evenly_spaced(3).y.tolist() == [1, 50, 100]
    assert len(PAIRS.evenly_spaced(1000)) == 100


def test_other_words_have_another_digest():
    def digest_of(sentence, word_encoder):
        return make_tokenizer(order=3, word_encoder=word_encoder).read([sentence]).digest()

    for word_encoder in ENCODERS:
        assert digest_of("I zebra", word_encoder) == digest_of("I zebra", word_encoder)
        assert digest_of("I zebra", word_encoder) != digest_of("I zebu", word_encoder)
    assert digest_of("I zebra", PROJECTION_ENCODER) != digest_of(
        "I zebra", ProjectionEncoder(5, 14, seed=4)
    )


def test_single_windows():
    windows = WindowDataset(make_tokenizer(order=3).read(["I have"]))
    assert [(*context.tolist(), target.item()) for context, target in windows] == [
        (9, 9, 0),
        (9, 0, 1),
        (0, 1, 7),
    ]
    assert windows[-1][1].item() == windows[np.int64(2)][1].item() == 7
    context, target = next(iter(DataLoader(windows, batch_size=2)))
    assert (context.tolist(), target.tolist()) == ([[9, 9], [9, 0]], [0, 1])
    for outside in (3, -4):
        with pytest.raises(IndexError):
            windows[outside]


@given(st.integers(1, 40), st.integers(1, 50), st.booleans())
def test_batches_hold_every_window_once(n_windows, batch_size, shuffle):
    windows = PAIRS.evenly_spaced(n_windows)
    batches = Batches(
        WindowDataset(windows), batch_size, shuffle=shuffle, generator=np.random.default_rng(0)
    )
    parts = list(batches)
    assert len(parts) == len(batches)
    assert all(len(target) == batch_size for _, target in parts[:-1])
    targets = torch.cat([target for _, target in parts])
    assert torch.equal(targets, torch.cat([context for context, _ in parts])[:, 0] + 1)
    assert sorted(targets.tolist()) == windows.y.tolist()
    if not shuffle:
        assert targets.tolist() == windows.y.tolist()
