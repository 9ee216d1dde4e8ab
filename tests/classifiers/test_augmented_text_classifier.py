"""AugmentedTextClassifier: the texts its classifier is trained on, and the methods it delegates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from sklearn_hashnlp import (
    AugmentedTextClassifier,
    HashingNgramVectorizer,
    make_text_classifier,
)
from sklearn_hashnlp.text import distort_texts
from tests.trainings import assert_same_bits

RNG = np.random.default_rng(0)
WORDS = {"sport": ["football", "striker", "goalkeeper"], "politics": ["parliament", "minister", "election"]}
LABELS = np.array(["sport", "politics"])[RNG.integers(0, 2, 60)]
TEXTS = [" ".join(RNG.choice(WORDS[label], 3)) for label in LABELS]


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it is trained on, call by call."""

    def __init__(self, size=1):
        self.size = size

    def fit(self, X, y, sample_weight=None, note=None):
        self.calls_ = []
        return self._note(X, y, sample_weight, note)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.calls_ = getattr(self, "calls_", [])
        return self._note(X, y, sample_weight, classes)

    def _note(self, X, y, sample_weight, note):
        self.classes_ = np.array(["politics", "sport"])
        self.calls_.append((X, y, sample_weight, note))
        return self

    def predict(self, X):
        return np.array([text.upper() for text in X])


class Upper(BaseEstimator):
    """A stateless transformer of texts."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [text.upper() for text in X]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def augmented(estimator, **options):
    return AugmentedTextClassifier(estimator, **{"distortion": 0.1, "random_state": 0} | options)


def sgd_pipeline(**options):
    vectorizer = HashingNgramVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=2**12)
    return Pipeline([("vectorizer", vectorizer), ("classifier", SGDClassifier(random_state=0, **options))])


@pytest.mark.parametrize("n_copies", [0, 1, 3])
def test_the_texts_come_first_and_then_each_copy_with_errors_of_its_own(n_copies):
    weights = np.arange(60.0)
    model = augmented(Recorder(), n_copies=n_copies).fit(TEXTS, LABELS, sample_weight=weights, note="one for all")
    ((texts, labels, found_weights, note),) = model.estimator_.calls_
    free = augmented(Recorder(), random_state=None)  # other errors in each fit
    assert n_copies == 0 or free.fit(TEXTS, LABELS).estimator_.calls_[0][0] != texts
    assert note == "one for all"
    copies = np.array(texts, dtype=object).reshape(1 + n_copies, 60).tolist()
    assert copies[0] == TEXTS
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=n_copies)
    assert copies[1:] == [distort_texts(TEXTS, 0.1, random_state=int(seed)) for seed in seeds]
    assert len({tuple(copy) for copy in copies}) == 1 + n_copies
    assert labels.tolist() == LABELS.tolist() * (1 + n_copies)
    assert found_weights.tolist() == weights.tolist() * (1 + n_copies)


def test_predictions_equal_the_classifier_without_distortion():
    model = augmented(Recorder(), distortion=1.0).fit(TEXTS, LABELS)
    assert model.predict(["a text"]).tolist() == ["A TEXT"]
    assert model.classes_.tolist() == ["politics", "sport"]
    model = augmented(sgd_pipeline(loss="log_loss")).fit(TEXTS, LABELS)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(model, method)(TEXTS), getattr(model.estimator_, method)(TEXTS))
    assert model.score(TEXTS, LABELS) == 1.0


def test_partial_fit_makes_other_errors_in_each_call():
    model = augmented(Recorder(), n_copies=2)
    for call in range(3):
        model.partial_fit(TEXTS, LABELS, classes=["politics", "sport"] if call == 0 else None, sample_weight=[2.0] * 60)
    assert [call[3] for call in model.estimator_.calls_] == [["politics", "sport"], None, None]
    assert all(list(call[2]) == [2.0] * 180 for call in model.estimator_.calls_)
    copies = [tuple(call[0][start : start + 60]) for call in model.estimator_.calls_ for start in (0, 60, 120)]
    assert copies.count(tuple(TEXTS)) == 3
    assert len(set(copies)) == 1 + 6
    again = augmented(Recorder(), n_copies=2).partial_fit(TEXTS, LABELS)
    assert_same_bits(again.estimator_.calls_[0][0], model.estimator_.calls_[0][0])
    fitted = augmented(Recorder(), n_copies=2).fit(TEXTS, LABELS).partial_fit(TEXTS, LABELS)
    assert_same_bits(fitted.estimator_.calls_[1][0], model.estimator_.calls_[1][0])


def test_the_last_step_of_a_pipeline_is_trained_with_the_weights():
    pipeline = make_pipeline(Upper(), "passthrough", Recorder())
    given = np.where(LABELS == "sport", 1.0, 0.0)
    fits = [
        augmented(pipeline).partial_fit(TEXTS, LABELS, sample_weight=given),
        augmented(pipeline).fit(TEXTS, LABELS, sample_weight=given),
        augmented(pipeline).fit(TEXTS, LABELS, recorder__sample_weight=given),
    ]
    for model in fits:
        ((texts, _, weights, _),) = model.estimator_[-1].calls_
        assert texts[:60] == [text.upper() for text in TEXTS]
        assert (len(texts), list(weights)) == (120, [*given, *given])
    assert not hasattr(pipeline[-1], "calls_")
    with pytest.raises(NotFittedError, match="The TF-IDF vectorizer is not fitted"):
        augmented(make_pipeline(TfidfVectorizer(), SGDClassifier())).partial_fit(TEXTS, LABELS, classes=["a", "b"])


@pytest.mark.parametrize("kind", [csr_matrix, pd.DataFrame])
def test_several_labels_a_text(kind):
    indicator = np.stack([LABELS == "sport", LABELS == "politics"], axis=1).astype(int)
    model = augmented(Recorder(), n_copies=2).fit(pd.Series(TEXTS), kind(indicator))
    found = model.estimator_.calls_[0][1]
    found = found.toarray() if isinstance(found, csr_matrix) else np.array(found)
    np.testing.assert_array_equal(found, np.tile(indicator, (3, 1)))
    model = augmented(make_text_classifier(loss="ova", random_state=0, n_jobs=1)).fit(TEXTS, indicator)
    assert model.predict(TEXTS).shape == (60, 2)
    assert get_tags(model).classifier_tags.multi_label


def test_its_tags_and_methods_follow_the_classifier():
    model = augmented(sgd_pipeline())
    tags = get_tags(model)
    assert is_classifier(model)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
    assert not hasattr(model, "predict_proba")  # of a hinge
    assert hasattr(augmented(sgd_pipeline(loss="log_loss")), "predict_proba")
    assert hasattr(model, "partial_fit")
    assert not hasattr(augmented(make_pipeline(Upper(), LinearSVC())), "partial_fit")
    with pytest.raises(NotFittedError, match="This AugmentedTextClassifier instance is not fitted yet"):
        model.predict(TEXTS)
