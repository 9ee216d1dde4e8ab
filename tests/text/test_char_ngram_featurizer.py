"""Counts of character n-grams against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from sklearn_hashnlp.text import CharNgramFeaturizer

from ..oracles.ngrams import char_ngrams
from ..strategies import TEXTS


def assert_same_values(X, expected):
    np.testing.assert_array_equal(X.indptr, expected.indptr)
    np.testing.assert_array_equal(X.indices, expected.indices)
    np.testing.assert_array_equal(X.data, expected.data)


def hashed(features, **parameters):
    return FeatureHasher(input_type="string", alternate_sign=False, **parameters).transform(
        features
    )


@given(
    TEXTS.filter(len),
    st.sampled_from([(1, 1), (1, 3), (2, 5), (4, 4)]),
    st.sampled_from([10, 2**20, 2**31 - 1]),
)
def test_counts_of_any_text(texts, ngram_range, n_features):
    X = CharNgramFeaturizer(ngram_range=ngram_range, n_features=n_features).transform(texts)
    expected = hashed([char_ngrams(text, ngram_range) for text in texts], n_features=n_features)
    assert_same_values(X, expected)


def test_punctuation_can_be_words_of_their_own():
    together, apart = (CharNgramFeaturizer(split=split) for split in ("whitespace", "punctuation"))
    assert (together.transform(["hi!"]) != apart.transform(["hi!"])).nnz > 0
    assert (apart.transform(["hi!"]) != apart.transform(["hi !"])).nnz == 0


def test_lowercase_is_optional():
    upper, lower = (
        CharNgramFeaturizer(lowercase=flag).transform(["ÀB Σ", "àb σ"]) for flag in (False, True)
    )
    assert (upper[0] != upper[1]).nnz > 0
    assert (lower[0] != lower[1]).nnz == 0


def test_skipgrams_of_words():
    featurizer = CharNgramFeaturizer(analyzer="skipgram", ngram_range=(2, 2), max_skip=1)
    expected = hashed([["a b", "a c", "b c", "b d", "c d"]])
    assert_same_values(featurizer.transform(["a b c d"]), expected)


def test_values():
    texts = ["aa bb", "", "c"]
    counts = CharNgramFeaturizer().transform(texts)
    binary = CharNgramFeaturizer(binary=True, dtype=np.float32).transform(texts)
    assert binary.dtype == np.float32
    np.testing.assert_array_equal(binary.data, np.ones(counts.nnz))
    for norm, order in (("l1", 1), ("l2", 2)):
        rows = CharNgramFeaturizer(norm=norm, n_features=64).transform(texts).toarray()
        np.testing.assert_allclose(np.linalg.norm(rows, ord=order, axis=1), [1, 0, 1])
    signed = CharNgramFeaturizer(alternate_sign=True).transform(texts)
    assert signed.data.min() < 0 < signed.data.max()
    np.testing.assert_array_equal(abs(signed).sum(axis=1), counts.sum(axis=1))


@pytest.mark.parametrize(
    "ngram_range", [(0, 1), (3, 2), (1,), (1, 2, 3), (1.0, 2), "12", ("1", "2"), (1, None)]
)
def test_wrong_ranges_of_ngrams_are_refused(ngram_range):
    for method in ("fit", "transform"):
        with pytest.raises(
            ValueError, match="'ngram_range' parameter of CharNgramFeaturizer must be a"
        ) as caught:
            getattr(CharNgramFeaturizer(ngram_range=ngram_range), method)(["text"])
        assert str(caught.value).endswith(f"Got {ngram_range!r} instead.")
