"""Texts in every form, and the tokenizer: contexts, special tokens and word ids of the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_hashnlp.language._corpus import EncodedWindows, read_corpus, vocabulary_from_dict
from sklearn_hashnlp.language._tokenizer import Tokenizer, build_tokenizer
from tests.language.bigram_model import BigramModel
from tests.language.tokenizers import ENCODERS, contexts_of, encode, make_tokenizer, spelled


@pytest.mark.parametrize("word_encoder", [None, *ENCODERS])
def test_special_tokens_within_a_sentence_are_unknown_words(word_encoder):
    tokenizer = make_tokenizer(order=3, word_encoder=word_encoder)
    special, plain = tokenizer.read(["I <s> a </s> day"]), tokenizer.read(["I <unk> a <unk> day"])
    assert contexts_of(special) == contexts_of(plain)
    assert special.targets.tolist() == plain.targets.tolist()
    expected = encode(tokenizer, ["I <unk> day", "<unk> I"]).tolist()
    assert encode(tokenizer, ["I <s> day", "</s> I"]).tolist() == expected


def test_contexts_are_padded_ids():
    contexts = encode(make_tokenizer(order=4), ["I have a dream", "one", [], "zebra day"])
    assert contexts.tolist() == [[1, 2, 3], [9, 9, 5], [9, 9, 9], [9, 8, 6]]
    with pytest.raises(TypeError, match="a list of contexts, got a single str"):
        encode(make_tokenizer(), "I have")


def test_windows_of_the_users_ids():
    vocabulary, id_map = vocabulary_from_dict(
        {"<s>": 0, "a": 1, "b": 2, "<unk>": 3}, caller="Model"
    )
    tokenizer = make_tokenizer(3, vocabulary=vocabulary, id_map=id_map)
    windows = tokenizer.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))
    assert spelled(windows, vocabulary.words) == ["<s> a b", "a b <unk>"]
    assert windows.offsets.tolist() == [0, 1, 2]
    for wrong, message in (
        ((1, 2, 4), "the id 4, and vocabulary has 4"),
        ((-1, 2, 1), "the id -1"),
    ):
        with pytest.raises(ValueError, match=message):
            tokenizer.read(lambda wrong=wrong: iter([wrong]))
    with pytest.raises(ValueError, match="ends with <s>, which is never predicted"):
        tokenizer.read(lambda: iter([(1, 2, 0)]))
    for word_encoder in ENCODERS:
        encoding = make_tokenizer(
            3, vocabulary=vocabulary, id_map=id_map, word_encoder=word_encoder
        )
        start, a, b = word_encoder.encode(["<s>", "a", "b"]).tolist()
        assert contexts_of(encoding.read(lambda: iter([(0, 1, 2), (1, 2, 3)]))) == [
            [start, a],
            [a, b],
        ]
    with pytest.raises(ValueError, match="does not know the words"):
        make_tokenizer(3).read(lambda: iter([(1, 2, 3)]))


def test_words_are_learned_from_training_sentences_alone():
    corpus = read_corpus(["a b", "c", "a"], order=2, caller="Model")
    validation = np.array([False, True, False])
    assert build_tokenizer(BigramModel(), corpus, order=2).vocabulary.words == [
        "</s>",
        "a",
        "b",
        "c",
        "<unk>",
        "<s>",
    ]
    words = build_tokenizer(BigramModel(), corpus, order=2, validation=validation).vocabulary.words
    assert words == ["</s>", "a", "b", "<unk>", "<s>"]
    ids = read_corpus(lambda: iter([(0, 1)]), order=2, caller="Model")
    with pytest.raises(
        ValueError, match="BigramModel got word ids from its reader and does not know the words"
    ):
        build_tokenizer(BigramModel(), ids, order=2)


@pytest.mark.parametrize("wrong", [-1, 10**19, 1.5, True, None])
@pytest.mark.parametrize("name", ["order", "n_words"])
def test_a_stored_context_of_no_length_is_refused(name, wrong):
    values, arrays = make_tokenizer().to_state()
    lengths = {"order": 3, "n_words": 0} | {name: wrong}
    values["far_context"] = {"n_words": lengths.pop("n_words")}
    with pytest.raises(ValueError, match=f"'{name}' must be an integer in"):
        Tokenizer.from_state(values, arrays, **lengths, caller="it")


SENTENCES = ["a b a", "", "c  b\n"]


def read(X, order=3):
    return read_corpus(X, order=order, caller="Model")


def words_of(corpus):
    ends = np.cumsum(corpus.lengths)
    words = [corpus.words[word_id] for word_id in corpus.ids]
    return [words[end - length : end] for end, length in zip(ends, corpus.lengths, strict=True)]


@pytest.mark.parametrize(
    "X",
    [
        SENTENCES,
        tuple(SENTENCES),
        [sentence.split() for sentence in SENTENCES],
        (sentence for sentence in SENTENCES),
        np.array(SENTENCES),
        np.array(SENTENCES, dtype=object),
        pd.Series(SENTENCES),
        lambda: iter(SENTENCES),
        lambda: (tuple(sentence.split()) for sentence in SENTENCES),
        ["<s> a b a </s>", "<s> </s>", ["<s>", "c", "b", "</s>"]],
    ],
    ids=[
        "list",
        "tuple",
        "tokens",
        "generator",
        "str array",
        "object array",
        "series",
        "reader",
        "tuples",
        "special",
    ],
)
def test_all_kinds_of_sentences(X):
    corpus = read(X)
    assert words_of(corpus) == [["a", "b", "a"], [], ["c", "b"]]
    assert corpus.words == ["a", "b", "c"]
    assert len(corpus) == 3


def test_a_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b a\n\n  \nc b é", encoding="utf-8")
    assert words_of(read(path)) == [["a", "b", "a"], ["c", "b", "é"]]
    with pytest.raises(FileNotFoundError):
        read(Path("no-such-file"))


def test_word_ids_from_a_reader():
    table = np.array([[1, 2, 3], [4, 5, 6]])
    for X in (
        lambda: iter([(1, 2, 3), [4, 5, np.int64(6)]]),
        lambda: iter(table),
        lambda: table.astype(np.uint16),
    ):
        corpus = read(X)
        assert isinstance(corpus, EncodedWindows)
        assert corpus.ids.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(
        ValueError, match=r"Model\(order=3\) reads windows of 3 word ids.*\(1, 2\) of 2 as item 1"
    ):
        read(lambda: iter([(1, 2, 3), (1, 2)]))


@pytest.mark.parametrize(
    "wrong", ["a b c", ("a", "b", "c"), (1, 2, 2.5), (1, 2, 2**70), 7, None], ids=str
)
def test_a_reader_of_word_ids_and_other_things(wrong):
    with pytest.raises(
        TypeError, match=r"Model: its reader began with tuples of word ids.* as item 1"
    ):
        read(lambda: iter([(1, 2, 3), wrong]))


@pytest.mark.parametrize("wrong", [None, 3, "a sentence", b"bytes"])
def test_a_reader_of_no_iterator(wrong):
    with pytest.raises(TypeError, match=r"Model: a reader returns an iterator of sentences.* got"):
        read(lambda: wrong)


@pytest.mark.parametrize(
    "X", [[], lambda: iter([]), list, ()], ids=["list", "reader", "list reader", "tuple"]
)
def test_no_sentences(X):
    assert len(read(X)) == 0
