"""The tokenizer: contexts, special tokens and word ids of the user."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import Vocabulary, vocabulary_from_dict
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.language._word_codes import HashEncoder, ProjectionEncoder

WORDS = ["I", "have", "a", "dream", "that", "one", "day", "</s>", "<unk>"]


PROJECTED = ProjectionEncoder(5, 14, seed=3)


OPEN = [HashEncoder(), PROJECTED]


def reader(order=5, padding="full", word_encoder=None, id_map=None, vocabulary=None):
    return Tokenizer(vocabulary or Vocabulary(WORDS), id_map, order, padding, word_encoder, "Model")


def contexts_of(windows):
    return windows.take(np.arange(len(windows)))[0].tolist()


def spelled(windows: WordWindows, words=(*WORDS, "<s>")) -> list[str]:
    context, target = windows.take(np.arange(len(windows)))
    return [" ".join(words[number] for number in row) for row in np.column_stack([context, target]).tolist()]


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
