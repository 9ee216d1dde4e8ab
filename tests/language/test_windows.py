"""Windows of words, by hand and against the reader of the reference implementation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.language._batches import WindowDataset
from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import Vocabulary
from sklearn_hashnlp.language._windows import WordWindows, sentence_windows
from sklearn_hashnlp.language._word_codes import HashEncoder, ProjectionEncoder

SENTENCES = st.lists(st.sampled_from("abc"), max_size=7)


ORDERS = st.integers(2, 6)


def source_reader(sentence: str, n: int) -> Iterator[tuple[str, ...]]:
    """The reader of the source, with its ``<e>`` called ``</s>``."""
    words = ["<s>", *sentence.strip().split(), "</s>"]
    if len(words) >= n:
        for i in range(n, len(words) + 1):
            yield tuple(words[i - n : i])


WORDS = ["I", "have", "a", "dream", "that", "one", "day", "</s>", "<unk>"]


SENTENCE = "I have a dream that one day"


PROJECTED = ProjectionEncoder(5, 14, seed=3)


OPEN = [HashEncoder(), PROJECTED]


def reader(order=5, padding="full", word_encoder=None, id_map=None, vocabulary=None):
    return Tokenizer(vocabulary or Vocabulary(WORDS), id_map, order, padding, word_encoder, "Model")


def contexts_of(windows):
    return windows.take(np.arange(len(windows)))[0].tolist()


def spelled(windows: WordWindows, words=(*WORDS, "<s>")) -> list[str]:
    context, target = windows.take(np.arange(len(windows)))
    return [" ".join(words[number] for number in row) for row in np.column_stack([context, target]).tolist()]


@given(SENTENCES, ORDERS)
def test_reference_is_the_reader_of_the_source(words: list[str], order: int) -> None:
    found = sentence_windows(words, order=order, padding="reference")
    assert [(*context, word) for context, word in found] == list(source_reader(" ".join(words), order))


@given(SENTENCES, ORDERS)
def test_full_predicts_every_word(words: list[str], order: int) -> None:
    found = sentence_windows(" ".join(["<s>", *words, "</s>"]), order=order, padding="full")
    assert [word for _, word in found] == [*words, "</s>"]
    for number, (context, _) in enumerate(found):
        assert context == (["<s>"] * (order - 1) + words)[number : number + order - 1]


@pytest.mark.parametrize("padding", ["full", "reference"])
@pytest.mark.parametrize("order", [2, 4])
def test_the_model_learns_from_these(padding: str, order: int) -> None:
    sentences = ["a b c d a", "b", "a b c"]
    model = HsigmoidLanguageModel(order=order, embedding_dim=2, hidden_size=2, max_epochs=1, padding=padding)
    read = model.fit(sentences)._windows(sentences)
    context, target = (part.tolist() for part in read.take(np.arange(len(read))))
    word_to_id = model.vocabulary_
    windows = [window for each in sentences for window in sentence_windows(each, order=order, padding=padding)]
    assert context == [[word_to_id[word] for word in words] for words, _ in windows]
    assert target == [word_to_id[word] for _, word in windows]


def test_the_windows_of_the_source():
    assert spelled(reader(padding="reference").read([SENTENCE])) == [
        "<s> I have a dream",
        "I have a dream that",
        "have a dream that one",
        "a dream that one day",
        "dream that one day </s>",
    ]


def test_every_word_is_predicted():
    assert spelled(reader(order=3).read(["I have", "", "zebra"])) == [
        "<s> <s> I",
        "<s> I have",
        "I have </s>",
        "<s> <s> </s>",
        "<s> <s> <unk>",
        "<s> <unk> </s>",
    ]


def by_hand(sentences, order, padding):
    rows = []
    for sentence in sentences:
        marked = ["<s>"] * (order - 1 if padding == "full" else 1) + sentence + ["</s>"]
        rows.append([" ".join(marked[end - order : end]) for end in range(order, len(marked) + 1)])
    return rows


@given(
    st.lists(st.lists(st.sampled_from(WORDS[:7]), max_size=6), max_size=6),
    st.integers(2, 6),
    st.sampled_from(["full", "reference"]),
)
def test_windows_by_hand(sentences, order, padding):
    windows = reader(order, padding).read(sentences)
    expected = by_hand(sentences, order, padding)
    assert spelled(windows) == [row for rows in expected for row in rows]
    assert np.diff(windows.offsets).tolist() == [len(rows) for rows in expected]
    chosen = np.array([len(sentence) % 2 == 0 for sentence in sentences], dtype=bool)
    part = windows.select(chosen)
    assert spelled(part) == [row for rows, take in zip(expected, chosen, strict=True) if take for row in rows]
    assert part.offsets[-1] == len(part)


@pytest.mark.parametrize("word_encoder", OPEN)
@pytest.mark.parametrize("padding", ["full", "reference"])
def test_open_contexts_know_every_word(word_encoder, padding):
    windows = reader(order=3, padding=padding, word_encoder=word_encoder).read(["I zebra", "zebra zebu"])
    context, target = windows.take(np.arange(len(windows)))
    begin, me, zebra, zebu = word_encoder.encode(["<s>", "I", "zebra", "zebu"]).tolist()
    expected = [([begin, begin], 0), ([begin, me], 8), ([me, zebra], 7)]
    expected += [([begin, begin], 8), ([begin, zebra], 8), ([zebra, zebu], 7)]
    if padding == "reference":
        expected = [pair for pair in expected if pair[0] != [begin, begin]]
    assert list(zip(context.tolist(), target.tolist(), strict=True)) == expected


@pytest.mark.parametrize("word_encoder", OPEN)
def test_open_contexts_of_parts(word_encoder):
    windows = reader(order=3, word_encoder=word_encoder).read(["I zebra", "", "zebra zebu"])
    everything = contexts_of(windows)
    assert contexts_of(windows.select(np.array([False, True, True]))) == everything[3:]
    assert contexts_of(windows.evenly_spaced(2)) == [everything[0], everything[-1]]
    assert WindowDataset(windows)[1][0].tolist() == everything[1]


def test_other_words_have_another_digest():
    def digest_of(sentence, word_encoder):
        return reader(order=3, word_encoder=word_encoder).read([sentence]).digest()

    for word_encoder in OPEN:
        assert digest_of("I zebra", word_encoder) == digest_of("I zebra", word_encoder)
        assert digest_of("I zebra", word_encoder) != digest_of("I zebu", word_encoder)
    assert digest_of("I zebra", PROJECTED) != digest_of("I zebra", ProjectionEncoder(5, 14, seed=4))


def test_windows_that_are_spread():
    text = np.arange(101, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, 101), np.array([0, 100]), 2)
    assert windows.evenly_spaced(3).y.tolist() == [1, 50, 100]
    assert len(windows.evenly_spaced(1000)) == 100
