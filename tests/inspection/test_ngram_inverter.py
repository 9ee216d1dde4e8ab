"""NgramInverter: names of columns, bounded memory, and the n-grams of a label."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    TextClassifier,
)
from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.inspection import NgramInverter, explain
from sklearn_hashnlp.text import AutoNgramVectorizer
from tests.golden._register import labels, texts

DOCSTRINGS, LABELS = texts(), labels().tolist()  # of eight modules
CHOSEN = [index for index, label in enumerate(LABELS) if label in ("asyncio", "email", "unittest")][
    :60
]
X = [DOCSTRINGS[index][:200] for index in CHOSEN]
Y = [LABELS[index] for index in CHOSEN]


@pytest.mark.parametrize("n_features", [50, 2**20])
def test_every_column_of_the_texts_has_its_ngrams(n_features: int) -> None:
    vectorizer = HashingNgramVectorizer(n_features=n_features, norm=None, ngram_range=(1, 2))
    inverter = NgramInverter(vectorizer).fit(X)
    matrix = vectorizer.transform(X)
    assert set(inverter.columns_.tolist()) >= set(matrix.indices.tolist())
    analyze = vectorizer.build_analyzer()
    counts = Counter(ngram for text in X for ngram in analyze(text))
    assert inverter.n_ngrams_ == len(counts)
    assert inverter.n_dropped_ == 0
    seen = []
    for column in inverter.columns_.tolist():
        ngrams = inverter.ngrams_of(column)
        assert [counts[ngram] for ngram in ngrams] == sorted(
            (counts[ngram] for ngram in ngrams), reverse=True
        )
        seen += [(ngram, column) for ngram in ngrams]
    assert sorted(ngram for ngram, _ in seen) == sorted(counts)
    words = [(ngram, column) for ngram, column in seen if " " not in ngram]
    assert [column for _, column in words] == vectorizer.transform(
        [ngram for ngram, _ in words]
    ).indices.tolist()


def test_names_of_columns() -> None:
    vectorizer = HashingNgramVectorizer(n_features=3, norm=None)
    inverter = NgramInverter(vectorizer).fit(["one two three four", "four"])
    names = inverter.get_feature_names_out()
    assert sorted(" | ".join(names).split(" | ")) == ["four", "one", "three", "two"]
    assert inverter.ngrams_of(int(inverter.columns_of("four")[0]))[0] == "four"  # the most frequent
    wide = NgramInverter(HashingNgramVectorizer()).fit(["one two"])
    assert wide.get_feature_names_out([*wide.columns_of("two"), 5]).tolist() == ["two", "column 5"]
    assert wide.ngrams_of(5) == []
    assert NgramInverter(AutoNgramVectorizer()).fit(["one"]).get_feature_names_out().tolist() != []


def test_parts_give_the_same_as_the_whole() -> None:
    whole = NgramInverter(AutoNgramVectorizer()).fit(X)
    parts = NgramInverter(AutoNgramVectorizer()).partial_fit(X[:9])
    assert len(parts.columns_) < len(whole.columns_)
    parts.partial_fit(text for text in X[9:])
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    assert parts.fit(X[:2]).n_ngrams_ < 500  # fit begins anew


def test_memory_is_bounded_and_frequent_ngrams_are_kept() -> None:
    generator = np.random.default_rng(0)
    texts = [
        f"often usual {' '.join(map(str, generator.integers(10**9, size=20)))}" for _ in range(100)
    ]
    inverter = NgramInverter(HashingNgramVectorizer(), max_ngrams=200)
    for text in texts:
        inverter.partial_fit([text])
        assert inverter.n_ngrams_ <= 200
    assert inverter.n_dropped_ > 1000
    assert inverter.n_ngrams_ + inverter.n_dropped_ == 2002
    assert len(inverter.columns_of("often")) == 1
    assert inverter.ngrams_of(int(inverter.columns_of("often")[0])) == ["often"]
    assert inverter.ngrams_of(int(inverter.columns_of("usual")[0])) == ["usual"]


def test_equally_rare_ngrams_fill_the_limit_and_the_latest_stay() -> None:
    inverter = NgramInverter(HashingNgramVectorizer(), max_ngrams=100).fit(
        [" ".join(f"w{k}" for k in range(101))]
    )
    assert (inverter.n_ngrams_, inverter.n_dropped_) == (75, 26)
    assert set(inverter.get_feature_names_out()) == {f"w{k}" for k in range(26, 101)}


def slow_weights(model: Any, texts: list[str], label: str) -> dict[str, float]:
    """Return the contribution of each n-gram in a text of its own, where nothing is normalized or
    moved.
    """
    found = {}
    for ngram in {ngram for text in texts for ngram in explain(model, text).ngrams}:
        explanation = explain(model, ngram)
        found[ngram] = float(explanation.contributions_to(label)[explanation.ngrams.index(ngram)])
    return found


RAW: dict[str, Any] = {
    "n_buckets": 999,
    "n_embeddings": 999,
    "normalize": None,
    "calibrate": "temperature",
}
RAW |= {"learning_rate": 0.05, "random_state": 0}


@pytest.mark.parametrize("loss", ["hinge", "ova"])
def test_top_ngrams_of_two_labels_equal_their_explanations(loss: Any) -> None:
    """With hinge the score is that of the second class; with several labels each has its own."""
    classifier = HashEmbeddingClassifier(**RAW, loss=loss)
    labels = ["email" if label == "email" else "other" for label in Y]
    model = make_pipeline(HashingNgramVectorizer(norm=None), classifier)
    model.fit(X, [[label] for label in labels] if loss == "ova" else labels)
    for label in ("email", "other"):
        expected = slow_weights(model, X[1:2], label)
        for ngram, weight in NgramInverter(model).fit(X[1:2]).top_ngrams(model, label, n=8):
            assert weight == pytest.approx(expected[ngram], rel=1e-5)
    if loss == "ova":
        with pytest.raises(TypeError, match="two classes with loss='ova'"):
            NgramInverter(model).fit(X).top_ngrams(model.fit(X, labels), "email")


UNION = FeatureUnion(
    [
        ("words", HashingNgramVectorizer(norm=None)),
        ("pairs", HashingNgramVectorizer(norm=None, ngram_range=(2, 2))),
    ],
    transformer_weights={"pairs": 0.5},
)


@pytest.mark.parametrize(
    "vectorizer",
    [
        HashingNgramVectorizer(n_features=2000, norm=None),
        FrequentNgramVectorizer(max_features=300),
        UNION,
    ],
    ids=["signs", "dictionary", "union"],
)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_top_ngrams_are_those_that_contribute_most(vectorizer: Any, n_labels: int) -> None:
    labels = [label if n_labels == 3 or label == "email" else "other" for label in Y]
    model = make_pipeline(vectorizer, HashEmbeddingClassifier(**RAW, n_hashes=2)).fit(X, labels)
    inverter = NgramInverter(model).fit(X[1:2])
    for label in ("email", labels[-1]):
        top, expected = inverter.top_ngrams(model, label, n=8), slow_weights(model, X[1:2], label)
        weights = [weight for _, weight in top]
        np.testing.assert_allclose(weights, [expected[ngram] for ngram, _ in top], rtol=1e-5)
        np.testing.assert_allclose(weights, sorted(expected.values(), reverse=True)[:8], rtol=1e-5)


def test_a_refused_text_leaves_names_and_counts_in_step() -> None:
    inverter = NgramInverter(HashingNgramVectorizer())
    for method in (inverter.fit, inverter.partial_fit):
        with pytest.raises(TypeError, match="document 1 is 3"):
            method(["one two", 3])  # type: ignore[list-item]
        assert sorted(inverter.get_feature_names_out()) == ["one", "two"]
    with pytest.raises(TypeError, match="document 1 is 3"):
        inverter.partial_fit(["three", 3])  # type: ignore[list-item]
    assert len(inverter.get_feature_names_out()) == inverter.n_ngrams_ == 3


def test_wrong_use_is_refused() -> None:
    model = make_pipeline(CharNgramFeaturizer(n_features=10), HashEmbeddingClassifier(**RAW)).fit(
        X, Y
    )
    with pytest.raises(NotFittedError, match="call fit"):
        NgramInverter(model).ngrams_of(3)
    with pytest.raises(ValueError, match="max_ngrams must be"):
        NgramInverter(model, max_ngrams=9)
    with pytest.raises(ValueError, match="wrap a single one"):
        NgramInverter(model).fit("one text")
    with pytest.raises(TypeError, match="classifier of strings"):
        NgramInverter(LogisticRegression()).fit(["one"])
    inverter = NgramInverter(HashingNgramVectorizer()).fit(X)
    with pytest.raises(ValueError, match="another vectorizer"):
        inverter.top_ngrams(model, "email")
    with pytest.raises(ValueError, match=r"labels 'asyncio', 'email', 'unittest'; got 'x'"):
        NgramInverter(model).fit(X).top_ngrams(model, "x")
    deep = make_text_classifier(features="words", n_buckets=99, n_embeddings=99, max_epochs=1)
    deep["classifier"].set_params(hidden_layer_sizes=(3,))
    with pytest.raises(TypeError, match="hidden layers"):
        NgramInverter(deep.fit(X, Y)).fit(X).top_ngrams(deep, "email")


def test_top_ngrams_of_a_text_classifier() -> None:
    model = TextClassifier(n_buckets=5000, n_embeddings=5000, random_state=0).fit(X, Y)
    inverter = NgramInverter(model).fit(X)
    top = [ngram for ngram, _ in inverter.top_ngrams(model, "unittest", n=20)]
    assert any("test" in ngram for ngram in top)
    often = inverter.top_ngrams(model, "unittest", n=10**6, min_count=5)
    assert 0 < len(often) < inverter.n_ngrams_ / 2
    assert len(inverter.top_ngrams(model, "email", n=3)) == 3
