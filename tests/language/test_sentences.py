from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_hashnlp.language._windows import EncodedWindows, read_corpus

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
    ids=["list", "tuple", "tokens", "generator", "str array", "object array", "series", "reader", "tuples", "special"],
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
    for X in (lambda: iter([(1, 2, 3), [4, 5, np.int64(6)]]), lambda: iter(table), lambda: table.astype(np.uint16)):
        corpus = read(X)
        assert isinstance(corpus, EncodedWindows)
        assert corpus.ids.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ValueError, match=r"Model\(order=3\) reads windows of 3 word ids.*\(1, 2\) of 2 as item 1"):
        read(lambda: iter([(1, 2, 3), (1, 2)]))


@pytest.mark.parametrize("wrong", ["a b c", ("a", "b", "c"), (1, 2, 2.5), (1, 2, 2**70), 7, None], ids=str)
def test_a_reader_of_word_ids_and_other_things(wrong):
    with pytest.raises(TypeError, match=r"Model: its reader began with tuples of word ids.* as item 1"):
        read(lambda: iter([(1, 2, 3), wrong]))


@pytest.mark.parametrize("wrong", [None, 3, "a sentence", b"bytes"])
def test_a_reader_of_no_iterator(wrong):
    with pytest.raises(TypeError, match=r"Model: a reader returns an iterator of sentences.* got"):
        read(lambda: wrong)


@pytest.mark.parametrize("X", [[], lambda: iter([]), list, ()], ids=["list", "reader", "list reader", "tuple"])
def test_nothing(X):
    assert len(read(X)) == 0
