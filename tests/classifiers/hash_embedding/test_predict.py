"""Predictions of a trained classifier, for every loss and kind of labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.metrics import accuracy_score
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((300, 60)) < 0.15) * RNG.integers(1, 4, (300, 60)), dtype=np.float32)
NUMBERS = np.argmax(
    X.toarray().reshape(300, 3, 20).sum(axis=2) + RNG.normal(0, 1, (300, 3)), axis=1
)
Y = np.array(["a", "b", "c"])[NUMBERS]
TOPICS = (X.toarray()[:, :40].reshape(300, 4, 10).sum(axis=2) > 3).astype(int)
SMALL = {"n_buckets": 300, "n_embeddings": 1000, "max_epochs": 10, "random_state": 0}
LOSSES = ["softmax", "ova", "hinge"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("labels", [Y, Y == "a"], ids=["three labels", "two labels"])
def test_one_label_a_row(loss, labels):
    model = HashEmbeddingClassifier(**SMALL, loss=loss).fit(X, labels)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, labels) > 0.8
    assert model.predict(X).tolist() == model.classes_[probabilities.argmax(axis=1)].tolist()
    if len(model.classes_) == 2:
        assert scores.shape == (300,)
        assert ((scores > 0) == model.predict(X)).all()
    else:
        assert scores.argmax(axis=1).tolist() == probabilities.argmax(axis=1).tolist()


def test_any_number_of_labels_a_row():
    model = HashEmbeddingClassifier(**SMALL | {"max_epochs": 30}, loss="ova").fit(
        X, csr_matrix(TOPICS)
    )
    assert model.classes_.tolist() == [0, 1, 2, 3]
    scores, predicted = model.decision_function(X), model.predict(X)
    assert scores.shape == (300, 4)
    np.testing.assert_allclose(
        model.predict_proba(X), expit(scores / model.temperature_), rtol=1e-12
    )
    assert isinstance(predicted, np.ndarray)
    assert predicted.dtype == np.int64
    assert (predicted == (scores > 0)).all()
    assert model.score(X, TOPICS) == accuracy_score(TOPICS, predicted) > 0.8


def test_the_best_labels():
    model = HashEmbeddingClassifier(**SMALL).fit(X, Y)
    probabilities = model.predict_proba(X)
    found = model.predict_topk(X, k=2)
    for row, pairs in zip(probabilities, found, strict=True):
        expected = sorted(
            zip(["a", "b", "c"], row.tolist(), strict=True), key=lambda pair: -pair[1]
        )[:2]
        assert pairs == expected
    assert [len(pairs) for pairs in model.predict_topk(X)] == [3] * 300
    above = model.predict_topk(X, threshold=0.4)
    assert [len(pairs) for pairs in above] == (probabilities >= 0.4).sum(axis=1).tolist()
    assert {type(value) for pairs in found for pair in pairs for value in pair} == {str, float}
    for k in (0, 2.0):
        with pytest.raises(
            ValueError, match=rf"Classifier.predict_topk needs an integer k of at least 1, got {k}"
        ):
            model.predict_topk(X, k=k)


def test_ties_are_broken_by_the_order_of_the_classes():
    labels = [f"{number:02}" for number in range(40)]
    model = HashEmbeddingClassifier(**SMALL).fit(np.tile(np.eye(40), (3, 1)), 3 * labels[::-1])
    for parameter in model.net_.module_.head.parameters():
        parameter.detach().zero_()
    model.net_.module_.head[-1].bias.detach()[1::2] = 1.0
    assert [label for label, _ in model.predict_topk(np.eye(40)[:1], k=40)[0]] == labels[
        1::2
    ] + labels[::2]


class Rows(Callback):
    """Keeps the rows that the probabilities are fitted on."""

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        self.seen = dataset_train if dataset_valid is None else dataset_valid


def test_hinge_probabilities_fit_the_rows_they_were_fitted_on():
    rows, labels = csr_array(X[np.arange(1500) % 300]), RNG.integers(0, 3, 1500)
    labels = np.where(RNG.random(1500) < 0.5, NUMBERS[np.arange(1500) % 300], labels)
    watch = Rows()
    model = HashEmbeddingClassifier(
        **SMALL,
        loss="hinge",
        calibrate=False,
        early_stopping=EarlyStopping(validation_fraction=0.3),
        callbacks=[watch],
    ).fit(rows, labels)
    scores = model.net_.score_rows(watch.seen)
    probabilities = model._loss.probabilities(scores)
    own = scores[np.arange(len(scores)), watch.seen.targets]
    # At the maximum of the likelihood the score of the right class is, on the average, what was
    # expected of it, with a row per class of uniform classes.
    uniform = 3 / (len(scores) + 3)
    target = (1 - uniform) * own.mean() + uniform * scores.mean()
    assert (probabilities * scores).sum(axis=1).mean() == pytest.approx(target, rel=1e-2)
    assert model._loss.inverse_temperature != 1
