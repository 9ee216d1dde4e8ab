"""NgramVectorUnion: n-grams beside the vectors of a pretrained model."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.frozen import FrozenEstimator

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer, _choose_weight, _ngram_vector_union
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from tests.trainings import assert_near

TEXTS = ["a cat sleeps", "the cat purrs", "shares fell", "the price of the shares fell", ""]
N_COLUMNS = 2**16


class Lengths(TransformerMixin, BaseEstimator):
    """Unit vectors that depend on the length of a text."""

    def __init__(self, fault=None):
        self.fault = fault

    def fit(self, X, y=None):
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        return self

    def transform(self, X):
        angle = np.array([float(len(text)) for text in X])
        vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if self.fault == "rows":
            return vectors[1:]
        return vectors * np.nan if self.fault == "nan" else vectors


def counter():
    return HashingNgramVectorizer(n_features=N_COLUMNS, alternate_sign=False, norm=None)


def test_vectors_have_the_given_share_of_the_length_of_weighted_rows():
    union = NgramVectorUnion(counter(), [Lengths().fit([])])
    X = union.fit_transform(TEXTS)
    counts = CountVectorizer().fit_transform(TEXTS)
    weighted = TfidfTransformer(norm=None).fit_transform(counts)
    lengths = [np.linalg.norm(matrix.toarray(), axis=1) for matrix in (counts, weighted)]
    ratio = np.mean(lengths[1][:4] / lengths[0][:4])
    assert_near(union.norm_ratio_, ratio, rtol=1e-6)
    expected = union.weight_ * ratio * lengths[0][:, np.newaxis] * Lengths().transform(TEXTS)
    assert_near(X[:, N_COLUMNS:].toarray(), expected, rtol=1e-5, atol=1e-6)
    assert (X[:, :N_COLUMNS] != counter().transform(TEXTS)).nnz == 0
    assert X.dtype == np.float32
    assert union.encoders[0].n_fits_ == 1  # not fitted again


def test_a_clone_keeps_a_frozen_encoder_only():
    frozen = clone(NgramVectorUnion(counter(), [FrozenEstimator(Lengths().fit([]))]))
    assert frozen.fit(TEXTS).transform(TEXTS).shape == (5, N_COLUMNS + 2)
    with pytest.raises(
        ValueError, match=r"this Lengths is not fitted.*sklearn.frozen.FrozenEstimator there"
    ):
        clone(NgramVectorUnion(counter(), [Lengths().fit([])])).fit(TEXTS)
    with pytest.raises(ValueError, match="this Lengths is not fitted"):
        NgramVectorUnion(counter(), [FrozenEstimator(Lengths())]).fit(TEXTS)


def test_errors():
    with pytest.raises(ValueError, match=r"one row for each text\. Got 4 rows for 5 texts"):
        NgramVectorUnion(counter(), [Lengths(fault="rows").fit([])]).fit_transform(TEXTS)
    with pytest.raises(ValueError, match="NaN"):
        NgramVectorUnion(counter(), [Lengths(fault="nan").fit([])]).fit_transform(TEXTS)
    with pytest.raises(ValueError, match="'encoders' parameter"):
        NgramVectorUnion(counter(), Lengths().fit([])).fit(TEXTS)


def test_texts_without_ngrams():
    union = NgramVectorUnion(counter(), [Lengths().fit([])]).fit(["", ""])
    assert union.norm_ratio_ == 1
    assert union.transform([""]).nnz == 0


def test_the_weight_of_vectors_is_chosen_from_150_texts_on(monkeypatch):
    data = load_stdlib_docstrings()
    texts, labels = data.data[::9][:160], data.target[::9][:160]

    def weight(n, y=labels):
        return NgramVectorUnion(counter(), [Lengths().fit([])]).fit(texts[:n], y[:n]).weight_

    assert weight(149) == 1.0
    chosen = []
    monkeypatch.setattr(
        _ngram_vector_union,
        "choose_weight",
        lambda *arguments: chosen.append(arguments) or 0.25,
    )
    assert weight(150) == 0.25
    (rows, first, weights, encoded, _) = chosen[0]
    assert rows.shape == (150, first + 2)
    assert weights == (0.5, 0.25, 1.0)
    assert len(encoded) == 150
    lists = [[label] for label in labels]
    assert weight(150, lists) == 0.5  # the default where nothing can be compared


def test_a_weight_wins_by_more_than_noise(monkeypatch):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 200)
    noise = generator.integers(0, 50, (200, 6)).ravel()
    columns = np.column_stack([noise.reshape(200, 6), 50 + labels])
    rows = csr_matrix(
        (np.ones(columns.size, np.float32), (np.repeat(np.arange(200), 7), columns.ravel()))
    )
    assert _choose_weight.choose_weight(rows, 50, (0.01, 0.02, 1.0), labels, 1) == 1.0
    monkeypatch.setattr(_choose_weight, "_NOISE", 100)
    assert _choose_weight.choose_weight(rows, 50, (0.01, 0.02, 1.0), labels, 1) == 0.01
