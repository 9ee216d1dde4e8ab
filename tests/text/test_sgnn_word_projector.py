"""Projections of words, and their means over texts."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.text import (
    CharNgramFeaturizer,
    SGNNProjector,
    SGNNWordProjector,
    _sgnn_word_projector,
    project_words,
)
from tests.golden._register import texts as docstrings

from ..strategies import TEXTS


def word_projector(**parameters):
    return SGNNWordProjector(
        CharNgramFeaturizer(), SGNNProjector(n_projections=3, n_bits=5, **parameters)
    )


def plain_means(texts, projector):
    """Project one word after the other."""
    means = []
    for text in texts:
        rows = [
            projector.transform(CharNgramFeaturizer().transform([word]))[0] for word in text.split()
        ]
        means.append(np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(15))
    return np.array(means, dtype=np.float32)


@given(TEXTS.filter(len), st.sampled_from(["binary", "sign", "float"]))
def test_the_mean_of_the_words(texts, output):
    words = word_projector(output=output)
    result = words.transform(texts)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, plain_means(texts, words.projector), rtol=1e-6, atol=1e-6)


def test_parts_and_threads_do_not_show(monkeypatch):
    texts = docstrings()[:300]
    expected = word_projector().transform(texts)
    assert word_projector().transform(iter(texts)).tobytes() == expected.tobytes()
    threads = word_projector().set_params(featurizer__n_jobs=2, projector__n_jobs=2)
    assert threads.transform(texts).tobytes() == expected.tobytes()
    monkeypatch.setattr(_sgnn_word_projector, "_CHARACTERS", 1000)
    assert word_projector().transform(texts).tobytes() == expected.tobytes()
    with pytest.raises(
        TypeError, match="SGNNWordProjector expects documents of type str, but document 300 is None"
    ):
        word_projector().transform([*texts, None])


def test_wrong_parameters_are_refused():
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=r"packed bits have no mean\..*set projector__output"):
            getattr(word_projector(output="packed"), method)(["a"])
        with pytest.raises(
            ValueError, match="The 'featurizer' parameter of SGNNWordProjector must be"
        ):
            getattr(SGNNWordProjector("char", SGNNProjector()), method)(["a"])
    with pytest.raises(ValueError, match="a single word has no skip-grams"):
        word_projector().set_params(featurizer__analyzer="skipgram").transform(["a"])


def test_the_means_are_never_there_twice(monkeypatch):
    monkeypatch.setattr(_sgnn_word_projector, "_CHARACTERS", 10_000)
    words = SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector())
    texts = [f"text number {number % 100}" for number in range(10_000)]
    words.transform(texts[:10])  # what a first call loads
    tracemalloc.start()
    try:
        result = words.transform(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * result.nbytes


BITS = SGNNProjector(n_projections=2)


def sequences(texts, **parameters):
    projections, rows = project_words(
        texts, featurizer=CharNgramFeaturizer(**parameters), projector=BITS
    )
    return projections, [projections[part] for part in np.split(rows.values, rows.offsets[1:-1])]


@given(TEXTS.filter(len), st.booleans())
def test_each_word_has_the_projection_that_it_has_alone(texts, lowercase):
    projections, result = sequences(texts, lowercase=lowercase)
    words = [(text.lower() if lowercase else text).split() for text in texts]
    assert len(projections) == len({word for text in words for word in text})
    featurizer = CharNgramFeaturizer(lowercase=lowercase)
    for sequence, text in zip(result, words, strict=True):
        if not text:
            assert len(sequence) == 0
        else:
            np.testing.assert_array_equal(sequence, BITS.transform(featurizer.transform(text)))


@given(TEXTS.filter(len), st.sampled_from(["whitespace", "punctuation"]), st.booleans())
def test_words_are_those_of_the_featurizer(texts, split, lowercase):
    featurizer = CharNgramFeaturizer(split=split, lowercase=lowercase)
    sums = SGNNProjector(n_projections=2, output="float")
    projections, rows = project_words(texts, featurizer=featurizer, projector=sums)
    whole = sums.transform(featurizer.transform(texts))
    for text, part in zip(whole, np.split(rows.values, rows.offsets[1:-1]), strict=True):
        np.testing.assert_allclose(projections[part].sum(axis=0), text, atol=1e-3)


def test_the_level_of_documents():
    texts = ["the cat", "", "cat"]
    featurizer = CharNgramFeaturizer()
    projections, rows = project_words(
        texts, featurizer=featurizer, projector=BITS, level="document"
    )
    np.testing.assert_array_equal(projections, BITS.transform(featurizer.transform(texts)))
    assert (rows.values.tolist(), rows.offsets.tolist()) == ([0, 1, 2], [0, 1, 2, 3])


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_words(texts):
    projections, rows = project_words(texts, featurizer=CharNgramFeaturizer(), projector=BITS)
    assert projections.shape == (0, 28)
    assert projections.dtype == np.uint8
    assert rows.values.dtype == np.int64
    assert rows.offsets.tolist() == [0] * (len(texts) + 1)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("one text", {}, "string object received"),
        (["fine", None], {}, "project_words expects documents of type str, but document 1 is None"),
        (["fine words", "x\ud801y"], {}, "project_words: document 1 holds the lone surrogate"),
        (["a"], {"level": "sentence"}, "level must be 'word' or 'document', got 'sentence'"),
        (["a"], {"featurizer": "char"}, "featurizer must be a CharNgramFeaturizer, got 'char'"),
        (
            ["a"],
            {"featurizer": CharNgramFeaturizer(analyzer="skipgram")},
            "a single word has no skip-grams",
        ),
    ],
)
def test_wrong_words_are_refused(texts, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        project_words(texts, **{"featurizer": CharNgramFeaturizer(), "projector": BITS} | options)


def test_capitals_go_before_the_words_are_split():
    assert len(sequences(["Great great GREAT"], lowercase=True)[0]) == 1
    # A dotted capital I becomes an i and a dot above, which is no letter: a word of its own.
    assert len(sequences(["İ"], lowercase=True, split="punctuation")[0]) == 2
