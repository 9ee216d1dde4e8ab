import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, project_words

from ..strategies import TEXTS

PROJECTOR = SGNNProjector(n_projections=2)


def sequences(texts, **parameters):
    projections, rows = project_words(texts, featurizer=CharNgramFeaturizer(**parameters), projector=PROJECTOR)
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
            np.testing.assert_array_equal(sequence, PROJECTOR.transform(featurizer.transform(text)))


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
    projections, rows = project_words(texts, featurizer=featurizer, projector=PROJECTOR, level="document")
    np.testing.assert_array_equal(projections, PROJECTOR.transform(featurizer.transform(texts)))
    assert (rows.values.tolist(), rows.offsets.tolist()) == ([0, 1, 2], [0, 1, 2, 3])


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_words(texts):
    projections, rows = project_words(texts, featurizer=CharNgramFeaturizer(), projector=PROJECTOR)
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
        (["a"], {"featurizer": CharNgramFeaturizer(analyzer="skipgram")}, "a single word has no skip-grams"),
    ],
)
def test_wrong_arguments_are_refused(texts, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        project_words(texts, **{"featurizer": CharNgramFeaturizer(), "projector": PROJECTOR} | options)


def test_capitals_go_before_the_words_are_split():
    assert len(sequences(["Great great GREAT"], lowercase=True)[0]) == 1
    # A dotted capital I becomes an i and a dot above, which is no letter: a word of its own.
    assert len(sequences(["İ"], lowercase=True, split="punctuation")[0]) == 2
