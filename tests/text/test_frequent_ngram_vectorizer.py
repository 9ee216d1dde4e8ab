"""The dictionary and the matrix must be those of scikit-learn's CountVectorizer, with ties broken by the hash."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text import FrequentNgramVectorizer, _frequent_ngram_vectorizer

from ..oracles.ngrams import fingerprint
from ..strategies import TEXTS

TEXT_LIST = ["to be or not to be", "that is the question", "", "Wörter", "the rest is silence, to be sure"]
PATTERNS = [r"(?u)\b\w\w+\b", r"\w+", r"\w+|[^\w\s]", r"(?u)\S+", r"\S\S+"]


@pytest.fixture(scope="module")
def real_texts():
    return load_stdlib_docstrings().data[::7]


def by_hand(texts, max_features, **parameters):
    """Count all n-grams with scikit-learn; give the hashes and counts of the most frequent, and their columns."""
    vectorizer = CountVectorizer(**parameters, dtype=np.float32)
    counts = vectorizer.fit_transform(texts)
    totals = np.asarray(counts.sum(axis=0)).ravel()
    ngrams = [
        (-int(total), fingerprint(name.split(" ")), column)
        for column, (name, total) in enumerate(zip(vectorizer.get_feature_names_out(), totals, strict=True))
    ]
    best = sorted(ngrams)[:max_features]
    return (
        [value for _, value, _ in best],
        [-total for total, _, _ in best],
        [column for _, _, column in best],
        vectorizer,
    )


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
    parameters = {"ngram_range": ngram_range, "token_pattern": token_pattern, "lowercase": lowercase}
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


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 9), (3, 4)])
@pytest.mark.parametrize("token_pattern", [r"(?u)\b\w\w+\b", r"\S\S+"])
def test_real_texts(real_texts, ngram_range, token_pattern):
    parameters = {"ngram_range": ngram_range, "token_pattern": token_pattern}
    texts, others = real_texts[:150], real_texts[300:350]
    fingerprints, counts, columns, theirs = by_hand(texts, 3000, **parameters)
    expected = [(documents, theirs.transform(documents)[:, columns]) for documents in (texts, others)]
    for n_jobs in (1, 2):
        vectorizer = FrequentNgramVectorizer(max_features=3000, n_jobs=n_jobs, max_memory=2**20, **parameters)
        vectorizer.fit(texts)
        assert vectorizer.fingerprints_.tolist() == fingerprints
        assert vectorizer.counts_.tolist() == counts
        for documents, rows in expected:
            assert_same(vectorizer.transform(documents), rows)


@pytest.mark.parametrize("max_features", [10, 500, 2000])
def test_it_keeps_what_max_features_of_scikit_learn_keeps_but_for_ties(real_texts, max_features):
    parameters = {"ngram_range": (1, 3), "max_features": max_features}
    theirs = CountVectorizer(**parameters)
    counts = theirs.fit_transform(real_texts)
    totals = np.asarray(counts.sum(axis=0)).ravel()
    ours = FrequentNgramVectorizer(**parameters)
    X = ours.fit_transform(real_texts)
    assert sorted(ours.counts_.tolist()) == sorted(totals.tolist())
    column_of = {value: column for column, value in enumerate(ours.fingerprints_.tolist())}
    above = [
        (column, column_of[fingerprint(name.split(" "))])
        for column, name in enumerate(theirs.get_feature_names_out())
        if totals[column] > totals.min()
    ]
    assert 0 < len(above) < max_features
    their_columns, our_columns = map(list, zip(*above, strict=True))
    assert (X[:, our_columns] != counts[:, their_columns]).nnz == 0


def test_the_first_columns_are_the_smaller_dictionary(real_texts):
    large = FrequentNgramVectorizer(max_features=5000, ngram_range=(1, 4))
    X = large.fit_transform(real_texts)
    for n in (1, 30, 2500):
        small = FrequentNgramVectorizer(max_features=n, ngram_range=(1, 4))
        assert_same(X[:, :n], small.fit_transform(real_texts))
        np.testing.assert_array_equal(small.counts_, large.counts_[:n])


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


def test_fewer_ngrams_than_columns_and_texts_of_one_word_or_none():
    vectorizer = FrequentNgramVectorizer(ngram_range=(1, 2))
    X = vectorizer.fit_transform(["word", "", "word word", "!"])
    assert X.toarray().tolist() == [[1, 0], [0, 0], [2, 1], [0, 0]]
    assert vectorizer.counts_.tolist() == [3, 1]
    assert X.dtype == np.float32
    assert vectorizer.transform([]).shape == (0, 2)
    assert vectorizer.transform(["nothing known"]).nnz == 0


def test_an_ngram_is_known_by_its_words_wherever_it_stands():
    vectorizer = FrequentNgramVectorizer(ngram_range=(2, 2), dtype=np.float64).fit(["new york", "old york"])
    X = vectorizer.transform(["a trip to new  york, NEW York and old york", "york new"])
    assert X.dtype == np.float64
    assert sorted(X.toarray()[0].tolist()) == [1, 2]
    assert X[1].nnz == 0


def test_a_lone_surrogate_is_a_character_like_any_other():
    texts = ["ab\ud800 cd", "ab\ud801 cd", "ab\ud800"]
    vectorizer = FrequentNgramVectorizer(token_pattern=r"\S+")
    X = vectorizer.fit_transform(texts)
    assert sorted(vectorizer.counts_.tolist()) == [1, 2, 2]
    assert (X.sum(axis=1).ravel() == [2, 2, 1]).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_features": 0},
        {"max_features": None},
        {"max_features": 2**31},
        {"ngram_range": (0, 1)},
        {"ngram_range": (2, 1)},
        {"ngram_range": (1.0, 2)},
        {"ngram_range": "12"},
        {"token_pattern": "[a-z]+"},
        {"token_pattern": None},
        {"lowercase": 3},
        {"dtype": np.int64},
        {"max_memory": 0},
        {"n_jobs": "all"},
    ],
)
def test_wrong_values_are_refused(parameters):
    with pytest.raises(ValueError, match=f"The {next(iter(parameters))!r} parameter of FrequentNgramVectorizer"):
        FrequentNgramVectorizer(**parameters).fit(TEXT_LIST)
    fitted = FrequentNgramVectorizer().fit(TEXT_LIST).set_params(**parameters)
    with pytest.raises(ValueError, match=f"The {next(iter(parameters))!r} parameter of FrequentNgramVectorizer"):
        fitted.transform(TEXT_LIST)


def test_no_ngrams_at_all():
    with pytest.raises(ValueError, match=r"none of the 2 texts has an n-gram.*Check the texts, ngram_range=\(3, 4\)"):
        FrequentNgramVectorizer(ngram_range=(3, 4)).fit(["too short", "!"])
    with pytest.raises(ValueError, match="none of the 0 texts"):
        FrequentNgramVectorizer().fit([])


def test_grid_search_chooses_the_size_of_the_dictionary(tmp_path):
    texts = [f"{word} film number {i}" for i in range(20) for word in ("good", "bad")]
    labels = ["+", "-"] * 20
    pipeline = make_pipeline(FrequentNgramVectorizer(), LogisticRegression(), memory=str(tmp_path))
    grid = {"frequentngramvectorizer__max_features": [1, 2, 50]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(texts, labels)
    # "film" and "number" come twice as often as "good" and "bad".
    assert search.best_params_ == {"frequentngramvectorizer__max_features": 50}
    assert search.score(texts, labels) == 1
    counted = Counter(word for text in texts for word in text.split() if len(word) > 1)
    assert search.best_estimator_[0].counts_[0] == counted["film"]


def test_a_model_folder_holds_a_dictionary(tmp_path):
    texts = [f"{word} film number {i}" for i in range(20) for word in ("good", "bad")]
    model = make_pipeline(
        FrequentNgramVectorizer(max_features=30, ngram_range=(1, 2)),
        HashEmbeddingClassifier(
            variant="standard", n_embeddings=30, embedding=EmbeddingTables(hash_rows=False), random_state=0
        ),
    ).fit(texts, ["+", "-"] * 20)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict_proba(texts).tobytes() == model.predict_proba(texts).tobytes()
    assert loaded[0].counts_.tolist() == model[0].counts_.tolist()
    values, arrays = model[0]._get_model_state()
    with pytest.raises(ValueError, match="an array of 64-bit hashes and one of as many counts"):
        clone(model[0])._set_model_state(values, arrays | {"counts": arrays["counts"][1:]})
