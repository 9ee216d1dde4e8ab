"""The dictionary and the matrix must be those of scikit-learn's CountVectorizer, with ties broken
by the hash.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_hashnlp.text import FrequentNgramVectorizer, _frequent_ngram_vectorizer
from tests.golden._register import texts as docstrings

from ..oracles.ngrams import fingerprint
from ..strategies import TEXTS

TEXT_LIST = [
    "to be or not to be",
    "that is the question",
    "",
    "Wörter",
    "the rest is silence, to be sure",
]
PATTERNS = [r"(?u)\b\w\w+\b", r"\w+", r"\w+|[^\w\s]", r"(?u)\S+", r"\S\S+"]


@pytest.fixture(scope="module")
def real_texts():
    return docstrings()


def by_hand(texts, max_features, **parameters):
    """Count all n-grams with scikit-learn; give the hashes and counts of the most frequent, and
    their columns.
    """
    vectorizer = CountVectorizer(**parameters, dtype=np.float32)
    counts = vectorizer.fit_transform(texts)
    totals = np.asarray(counts.sum(axis=0)).ravel()
    ngrams = [
        (-int(total), fingerprint(name.split(" ")), column)
        for column, (name, total) in enumerate(
            zip(vectorizer.get_feature_names_out(), totals, strict=True)
        )
    ]
    totals, values, columns = map(list, zip(*sorted(ngrams)[:max_features], strict=True))
    return values, [-total for total in totals], columns, vectorizer


def assert_same(ours, theirs):
    assert ours.shape == theirs.shape
    theirs.sort_indices()
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert ours.has_canonical_format


@given(
    texts=TEXTS,
    more=TEXTS,
    max_features=st.sampled_from([1, 2, 5, 30, 10**6]),
    ngram_range=st.sampled_from([(1, 1), (1, 2), (2, 3), (1, 9)]),
    token_pattern=st.sampled_from(PATTERNS),
    lowercase=st.booleans(),
)
def test_any_text(texts, more, max_features, ngram_range, token_pattern, lowercase):
    parameters = {
        "ngram_range": ngram_range,
        "token_pattern": token_pattern,
        "lowercase": lowercase,
    }
    vectorizer = FrequentNgramVectorizer(max_features=max_features, **parameters)
    try:
        fingerprints, counts, columns, theirs = by_hand(texts, max_features, **parameters)
    except ValueError:  # there are no n-grams
        with pytest.raises(ValueError, match=f"none of the {len(texts)} texts has an n-gram"):
            vectorizer.fit(texts)
        return
    assert_same(vectorizer.fit_transform(texts), theirs.transform(texts)[:, columns])
    assert vectorizer.fingerprints_.tolist() == fingerprints
    assert vectorizer.counts_.tolist() == counts
    if more:
        assert_same(vectorizer.transform(more), theirs.transform(more)[:, columns])


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(_frequent_ngram_vectorizer, "WORD_CHUNK", 2**12)
    monkeypatch.setattr(_frequent_ngram_vectorizer, "_MIN_CHUNK", 2**10)
    monkeypatch.setattr(_frequent_ngram_vectorizer, "_BYTES_PER_THREAD", 0)


@pytest.mark.usefixtures("_small_chunks")
def test_neither_memory_nor_threads_change_anything(real_texts):
    parameters = {"max_features": 3000, "ngram_range": (1, 5)}
    first = FrequentNgramVectorizer(**parameters)
    X = first.fit_transform(real_texts)
    for max_memory, n_jobs in ((1, 1), (1, 3), (2**20, 2), (2**40, 2)):
        other = FrequentNgramVectorizer(max_memory=max_memory, n_jobs=n_jobs, **parameters)
        assert_same(other.fit_transform(real_texts), X)
        np.testing.assert_array_equal(other.fingerprints_, first.fingerprints_)
        np.testing.assert_array_equal(other.counts_, first.counts_)


def test_a_lone_surrogate_is_a_character_like_any_other():
    texts = ["ab\ud800 cd", "ab\ud801 cd", "ab\ud800"]
    vectorizer = FrequentNgramVectorizer(token_pattern=r"\S+")
    X = vectorizer.fit_transform(texts)
    assert sorted(vectorizer.counts_.tolist()) == [1, 2, 2]
    assert (X.sum(axis=1).ravel() == [2, 2, 1]).all()


@pytest.mark.parametrize(
    "parameters",
    [{"ngram_range": (0, 1)}, {"ngram_range": (1.0, 2)}, {"token_pattern": "[a-z]+"}],
)
def test_wrong_values_are_refused(parameters):
    with pytest.raises(
        ValueError, match=f"The {next(iter(parameters))!r} parameter of FrequentNgramVectorizer"
    ):
        FrequentNgramVectorizer(**parameters).fit(TEXT_LIST)
    fitted = FrequentNgramVectorizer().fit(TEXT_LIST).set_params(**parameters)
    with pytest.raises(
        ValueError, match=f"The {next(iter(parameters))!r} parameter of FrequentNgramVectorizer"
    ):
        fitted.transform(TEXT_LIST)


def test_no_ngrams_at_all():
    with pytest.raises(
        ValueError,
        match=r"none of the 2 texts has an n-gram.*Check the texts, ngram_range=\(3, 4\)",
    ):
        FrequentNgramVectorizer(ngram_range=(3, 4)).fit(["too short", "!"])
    with pytest.raises(ValueError, match="none of the 0 texts"):
        FrequentNgramVectorizer().fit([])


def test_a_stored_dictionary_of_other_lengths_is_refused():
    model = FrequentNgramVectorizer(max_features=30).fit(TEXT_LIST)
    values, arrays = model._get_model_state()
    with pytest.raises(ValueError, match="an array of 64-bit hashes and one of as many counts"):
        clone(model)._set_model_state(values, arrays | {"counts": arrays["counts"][1:]})
