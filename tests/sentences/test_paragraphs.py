import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.sentences import _sentence_reader
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs, read_paragraphs
from tests.oracles import sentences as oracle
from tests.strategies import TEXT


def split_at_bars(text):
    return text.split("|")


def read(X, *, max_sentences=8, max_words=100, split=split_at_bars):
    return read_paragraphs(
        X, split=split, max_sentences=max_sentences, max_words=max_words, caller="Reader"
    )


def as_lists(paragraphs: Paragraphs) -> list[list[list[str]]]:
    values, offsets = paragraphs.sentences
    sentences = [
        [paragraphs.words[word_id] for word_id in values[begin:end]]
        for begin, end in pairwise(offsets)
    ]
    return [sentences[begin:end] for begin, end in pairwise(paragraphs.offsets)]


@given(
    st.lists(st.lists(TEXT | st.text(alphabet="ab c.", max_size=20), max_size=12), max_size=6),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from([1, 10, 10**6]),
)
def test_reading_agrees_with_a_slow_reader(paragraphs, max_sentences, max_words, n_characters):
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(_sentence_reader, "_CHUNK_CHARACTERS", n_characters)
        result = read(paragraphs, max_sentences=max_sentences, max_words=max_words)
    expected = oracle.read_paragraphs(paragraphs, max_sentences, max_words)
    assert as_lists(result) == expected
    assert len(result) == len(expected)
    assert result.n_sentences == sum(map(len, expected))
    assert len(set(result.words)) == len(result.words)
    assert [array.dtype for array in (*result.sentences, result.offsets)] == [
        np.int32,
        np.int64,
        np.int64,
    ]


@pytest.mark.parametrize(
    "X", [[], ["", " |\t"], [[]], [[""]], iter([]), np.array([], dtype=object)]
)
def test_empty_input_has_no_paragraphs(X):
    result = read(X)
    assert (len(result), result.n_sentences, result.words) == (0, 0, [])
    assert result.sentences.offsets.tolist() == result.offsets.tolist() == [0]


@pytest.mark.parametrize("n_sentences", [1, 8, 9, 16, 17, 65])
def test_long_paragraphs_are_split_into_parts_of_equal_length(n_sentences):
    sizes = np.diff(read([["a"] * n_sentences]).offsets)
    assert sizes.sum() == n_sentences
    assert sizes.max() <= 8
    assert np.ptp(sizes) <= 1
    assert len(sizes) == -(-n_sentences // 8)


def test_input_types(tmp_path):
    texts = ["One a|two b", "three c|four"]
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(texts), encoding="utf-8")
    expected = as_lists(read(texts))
    assert read(["b a|b c", ["d a"]], max_words=2).words == ["b", "a", "c", "d"]
    assert expected == [[["one", "a"], ["two", "b"]], [["three", "c"], ["four"]]]
    for X in (
        tuple(texts),
        iter(texts),
        np.array(texts, dtype=object),
        pd.Series(texts),
        path,
        [path],
        [texts[0], ("three c", "four")],
        lambda: iter(texts),
        lambda: [path],
    ):
        assert as_lists(read(X)) == expected


def test_long_sentences_are_truncated_with_one_warning():
    with pytest.warns(
        UserWarning, match="^Reader: the longest sentence has 10,000 words; sentences are tr"
    ) as caught:
        result = read(["a b c d|e", "x " * 10_000], max_words=3)
    assert as_lists(result) == [[["a", "b", "c"], ["e"]], [["x", "x", "x"]]]
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (Path("no.txt"), FileNotFoundError, r"no\.txt"),
        (
            "a text",
            ValueError,
            r"Reader: .* got a single str. Wrap a paragraph in a list, \['a text'\], and the name",
        ),
        (b"a text", ValueError, r"Reader: .* got a single bytes"),
        (3, TypeError, "Reader expects an iterable over documents"),
        (np.array([["a", "b"]]), ValueError, "Reader expects one column of documents"),
        (
            ["a", None],
            TypeError,
            r"a paragraph must be a string, .*; document 1 is None \(NoneType\)",
        ),
        (["a", float("nan")], TypeError, "document 1 is nan"),
        (["a", b"b"], TypeError, "document 1 is b'b'"),
        (["a", ["b", 3]], TypeError, r"document 1 is \['b', 3\]"),
        (
            lambda: "a text",
            TypeError,
            r"a callable must return an iterable of paragraphs, got 'a text' \(str\)",
        ),
        (lambda: None, TypeError, r"got None \(NoneType\)"),
        (
            ["a b", "b|c \ud800d"],
            ValueError,
            r"Reader: document 1 holds the lone surrogate '\\ud800' inside",
        ),
        (["a b", ["b", "c \ud800d"]], ValueError, r"Reader: document 1 holds the lone surrogate"),
    ],
)
def test_an_error_describes_the_wrong_input(X, error, message):
    with pytest.raises(error, match=message):
        read(X)


@pytest.mark.parametrize("sentences", ["a string", None, ["a", None], ("a",)])
def test_a_splitter_must_return_a_list_of_strings(sentences):
    with pytest.raises(
        TypeError, match=r"sentence_splitter must return a list of strings, got .* document 1"
    ):
        read([["a"], "b"], split=lambda text: sentences)


def test_other_paragraphs_have_another_digest():
    texts = ["a b|c", "d", "a b|c d"]
    others = (
        ["a b|c", "d", "a b|c e"],
        ["a b", "c", "d", "a b|c d"],
        texts[::-1],
        ["a b c", "d", "a b|c d"],
    )
    digests = {read(X).digest() for X in (texts, *others)}
    assert len(digests) == 5
    assert read(iter(texts)).digest() == read(texts).digest()
