"""Windows of words, against windows by hand and against the reader of the reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.language._net import WindowDataset
from sklearn_hashnlp.language._vocabulary import ProjectionEncoder
from sklearn_hashnlp.language._windows import WordWindows, sentence_windows
from tests.language.tokenizers import (
    ENCODERS,
    PROJECTION_ENCODER,
    WORDS,
    contexts_of,
    make_tokenizer,
    spelled,
)
from tests.oracles.language import reference_windows, windows_of

SENTENCES = st.lists(st.sampled_from("abc"), max_size=7)
ORDERS = st.integers(2, 6)


@given(SENTENCES, ORDERS)
def test_reference_padding_gives_the_windows_of_the_reference_implementation(words: list[str], order: int) -> None:
    windows = sentence_windows(words, order=order, padding="reference")
    assert [(*context, word) for context, word in windows] == list(reference_windows(" ".join(words), order))


@given(SENTENCES, ORDERS)
def test_full_padding_predicts_every_word(words: list[str], order: int) -> None:
    windows = sentence_windows(" ".join(["<s>", *words, "</s>"]), order=order, padding="full")
    assert [word for _, word in windows] == [*words, "</s>"]
    for index, (context, _) in enumerate(windows):
        assert context == (["<s>"] * (order - 1) + words)[index : index + order - 1]


@given(
    st.lists(st.lists(st.sampled_from(WORDS[:7]), max_size=6), max_size=6),
    st.integers(2, 6),
    st.sampled_from(["full", "reference"]),
)
def test_windows_by_hand(sentences, order, padding):
    windows = make_tokenizer(order, padding).read(sentences)
    expected = [windows_of(words, order, padding) for words in sentences]
    assert spelled(windows) == [row for rows in expected for row in rows]
    assert np.diff(windows.offsets).tolist() == [len(rows) for rows in expected]
    mask = np.array([len(sentence) % 2 == 0 for sentence in sentences], dtype=bool)
    part = windows.select(mask)
    assert spelled(part) == [row for rows, selected in zip(expected, mask, strict=True) if selected for row in rows]
    assert part.offsets[-1] == len(part)


@pytest.mark.parametrize("word_encoder", ENCODERS)
@pytest.mark.parametrize("padding", ["full", "reference"])
def test_encoded_contexts_tell_unknown_words_apart(word_encoder, padding):
    windows = make_tokenizer(order=3, padding=padding, word_encoder=word_encoder).read(["I zebra", "zebra zebu"])
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


def test_other_words_have_another_digest():
    def digest_of(sentence, word_encoder):
        return make_tokenizer(order=3, word_encoder=word_encoder).read([sentence]).digest()

    for word_encoder in ENCODERS:
        assert digest_of("I zebra", word_encoder) == digest_of("I zebra", word_encoder)
        assert digest_of("I zebra", word_encoder) != digest_of("I zebu", word_encoder)
    assert digest_of("I zebra", PROJECTION_ENCODER) != digest_of("I zebra", ProjectionEncoder(5, 14, seed=4))


def test_evenly_spaced_windows():
    text = np.arange(101, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, 101), np.array([0, 100]), 2)
    assert windows.evenly_spaced(3).y.tolist() == [1, 50, 100]
    assert len(windows.evenly_spaced(1000)) == 100
