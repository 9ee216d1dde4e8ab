from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from sklearn_hashnlp.language._batches import WindowBatches, WindowDataset
from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import Vocabulary, vocabulary_from_dict
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.language._word_codes import HashEncoder, ProjectionEncoder

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


def test_single_windows():
    windows = WindowDataset(reader(order=3).read(["I have"]))
    assert [(*context.tolist(), target.item()) for context, target in windows] == [(9, 9, 0), (9, 0, 1), (0, 1, 7)]
    assert windows[-1][1].item() == windows[np.int64(2)][1].item() == 7
    context, target = next(iter(DataLoader(windows, batch_size=2)))
    assert (context.tolist(), target.tolist()) == ([[9, 9], [9, 0]], [0, 1])
    for outside in (3, -4):
        with pytest.raises(IndexError):
            windows[outside]


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


@pytest.mark.parametrize("word_encoder", [None, *OPEN])
def test_marks_within_a_sentence_are_unknown_words(word_encoder):
    mine = reader(order=3, word_encoder=word_encoder)
    marked, plain = mine.read(["I <s> a </s> day"]), mine.read(["I <unk> a <unk> day"])
    assert contexts_of(marked) == contexts_of(plain)
    assert marked.targets.tolist() == plain.targets.tolist()
    assert mine.contexts(["I <s> day", "</s> I"]).tolist() == mine.contexts(["I <unk> day", "<unk> I"]).tolist()


def test_contexts():
    contexts = reader(order=4).contexts(["I have a dream", "one", [], "zebra day"])
    assert contexts.tolist() == [[1, 2, 3], [9, 9, 5], [9, 9, 9], [9, 8, 6]]
    for word_encoder in OPEN:
        found = reader(order=3, word_encoder=word_encoder).contexts(["zebra", [], "a zebra zebu"])
        begin, zebra, zebu = word_encoder.encode(["<s>", "zebra", "zebu"]).tolist()
        assert found.tolist() == [[begin, zebra], [begin, begin], [zebra, zebu]]
        assert found.dtype == np.int64
        assert len(reader(order=3, word_encoder=word_encoder).contexts([])) == 0
    with pytest.raises(TypeError, match="a list of contexts, got a single str"):
        reader().contexts("I have")


def test_windows_of_the_users_numbers():
    vocabulary, id_map = vocabulary_from_dict({"<s>": 0, "a": 1, "b": 2, "<unk>": 3}, caller="Model")
    mine = reader(3, vocabulary=vocabulary, id_map=id_map)
    windows = mine.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))
    assert spelled(windows, vocabulary.words) == ["<s> a b", "a b <unk>"]
    assert windows.offsets.tolist() == [0, 1, 2]
    for wrong, message in (((1, 2, 4), "the id 4, and vocabulary has 4"), ((-1, 2, 1), "the id -1")):
        with pytest.raises(ValueError, match=message):
            mine.read(lambda wrong=wrong: iter([wrong]))
    with pytest.raises(ValueError, match="ends with <s>, which is never predicted"):
        mine.read(lambda: iter([(1, 2, 0)]))
    for word_encoder in OPEN:
        shown = reader(3, vocabulary=vocabulary, id_map=id_map, word_encoder=word_encoder)
        begin, a, b = word_encoder.encode(["<s>", "a", "b"]).tolist()
        assert contexts_of(shown.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))) == [[begin, a], [a, b]]
    with pytest.raises(ValueError, match="does not know the words"):
        reader(3).read(lambda: iter([(1, 2, 3)]))


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


def test_windows_that_are_spread():
    text = np.arange(101, dtype=np.int32)
    windows = WordWindows(text, text, np.arange(1, 101), np.array([0, 100]), 2)
    assert windows.evenly_spaced(3).y.tolist() == [1, 50, 100]
    assert len(windows.evenly_spaced(1000)) == 100


@pytest.mark.parametrize("word_encoder", [None, *OPEN])
def test_batches_elsewhere_are_the_same(word_encoder):
    windows = reader(order=3, word_encoder=word_encoder).read([SENTENCE, "a dream"])
    there = WindowBatches(WindowDataset(windows), 4)
    for (context, target), (context_there, target_there) in zip(
        WindowBatches(WindowDataset(windows), 4), there._gather_on_device(np.arange(len(windows))), strict=True
    ):
        assert torch.equal(context, context_there)
        assert torch.equal(target, target_there)
