"""Predictions out of scores, and the error where texts come in the place of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sklearn_hashnlp.classifiers import (
    HashEmbeddingClassifier,
    QuantizedSGNNClassifier,
    SGNNClassifier,
    quantize_classifier,
)
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._losses import make_loss

TEXTS = ["a fine, funny film, and longer than forty letters", "dull"]
WHAT_TO_DO = {
    HashEmbeddingClassifier: r"as in make_text_classifier\(\)\.",
    SGNNClassifier: r"as in make_pipeline\(CharNgramFeaturizer\(\), SGNNProjector\(\), SGNNClassifier\(\)\)\.",
    QuantizedSGNNClassifier: r"as in make_pipeline\(CharNgramFeaturizer\(\), SGNNProjector\(\), Quantized",
}


class OwnScores(ScoringClassifier):
    """Its rows are its scores."""

    def __init__(self, *, loss: str = "softmax", multilabel: bool = False, labels: tuple[str, ...] = ("a", "b", "c")):
        self.loss = loss
        self.multilabel = multilabel
        self.labels = labels

    def fit(self, X=None, y=None):
        self.classes_ = np.array(self.labels)
        self._loss = make_loss(self.loss, multilabel=self.multilabel)
        return self

    def _scores(self, X):
        return np.asarray(X, dtype=np.float64)


def test_labels_and_probabilities_are_made_of_scores():
    scores = np.log([[1.0, 2.0, 1.0], [3.0, 3.0, 2.0]])
    model = OwnScores().fit()
    np.testing.assert_allclose(model.predict_proba(scores), [[0.25, 0.5, 0.25], [0.375, 0.375, 0.25]])
    assert model.predict(scores).tolist() == ["b", "a"]  # the first of equal ones
    assert model.decision_function(scores) is not None
    assert [[label for label, _ in row] for row in model.predict_topk(scores, k=2)] == [["b", "a"], ["a", "b"]]
    assert model.predict_topk(scores, threshold=0.3)[0] == [("b", pytest.approx(0.5))]
    two = OwnScores(labels=("no", "yes")).fit()
    assert two.decision_function(scores[:, :2]).tolist() == pytest.approx([np.log(2), 0])
    several = OwnScores(loss="ova", multilabel=True).fit()
    assert several.predict(scores - 0.1).tolist() == [[0, 1, 0], [1, 1, 1]]
    assert several.decision_function(scores).shape == (2, 3)


@pytest.mark.parametrize("k", [0, 1.0, "all"])
def test_how_many_labels_must_be_a_number(k):
    with pytest.raises(ValueError, match=r"OwnScores\.predict_topk needs an integer k of at least 1"):
        OwnScores().fit().predict_topk(np.eye(3), k=k)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda texts: np.array(texts, dtype=object)])
@pytest.mark.parametrize("classifier", WHAT_TO_DO)
def test_texts_in_the_place_of_rows_are_told_what_makes_rows_of_them(classifier, kind):
    message = rf"{classifier.__name__} takes rows of numbers, got texts, the first of them 'a fine, .*'\.\.\..* "
    trained = SGNNClassifier(max_epochs=1) if classifier is QuantizedSGNNClassifier else classifier(max_epochs=1)
    trained.fit(np.eye(4), [0, 1, 0, 1])
    model = quantize_classifier(trained) if classifier is QuantizedSGNNClassifier else trained
    for act in (lambda: classifier().fit(kind(TEXTS), [0, 1]), lambda: model.predict(kind(TEXTS))):
        with pytest.raises(ValueError, match=message + WHAT_TO_DO[classifier]):
            act()


def test_the_quantised_classifier_tells_the_most_probable_labels_as_well():
    rows = np.eye(3)
    classifier = SGNNClassifier(hidden_layer_sizes=(), max_epochs=200, learning_rate=0.05, random_state=0)
    trained = classifier.fit(rows, [*"abc"])
    assert [row[0][0] for row in quantize_classifier(trained).predict_topk(rows, k=1)] == [*"abc"]
