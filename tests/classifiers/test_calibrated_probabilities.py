"""Calibrated probabilities: the mean probability of predicted labels is near the accuracy."""

from __future__ import annotations

import pickle
import runpy

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    SGNNClassifier,
    SGNNProjector,
    export_predictor,
    make_text_classifier,
    quantize,
)
from sklearn_hashnlp.training import EarlyStopping

RNG = np.random.default_rng(0)
N_TRAIN = 800


def noisy_texts(n_texts=1600, n_words=300):
    """Return texts of many rare words, and labels that follow from the words in three of four texts."""
    words = np.array([f"w{number}" for number in range(n_words)])
    rows = RNG.integers(0, n_words, (n_texts, 6))
    votes = (rows % 3 == 0).sum(axis=1) - 2.0
    labels = np.where(RNG.random(n_texts) < 0.25, RNG.random(n_texts) < 0.5, votes > 0)
    return [" ".join(words[row]) for row in rows], np.where(labels, "good", "bad")


TEXTS, LABELS = noisy_texts()
TRAIN, Y_TRAIN, TEST, Y_TEST = TEXTS[:N_TRAIN], LABELS[:N_TRAIN], TEXTS[N_TRAIN:], LABELS[N_TRAIN:]


def overconfidence(model, X=TEST, y=Y_TEST):
    """Return how much the mean probability of predicted labels is above the accuracy."""
    return model.predict_proba(X).max(axis=1).mean() - model.score(X, y)


@pytest.fixture(scope="module")
def model():
    """Train with the defaults for many texts."""
    return make_text_classifier(features="words", loss="softmax", random_state=0).fit(TRAIN, Y_TRAIN)


@pytest.fixture(scope="module")
def plain():
    """Train without calibration."""
    model = make_text_classifier(features="words", loss="softmax", random_state=0)
    return model.set_params(classifier__calibrate=False).fit(TRAIN, Y_TRAIN)


def test_a_probability_of_80_percent_is_right_in_about_80_percent(model):
    assert abs(overconfidence(model)) < 0.05
    assert abs(overconfidence(make_text_classifier(random_state=0).fit(TRAIN, Y_TRAIN))) < 0.05


def test_calibration_repairs_probabilities_and_changes_no_prediction(model, plain):
    assert overconfidence(plain) > 0.1
    assert log_loss(Y_TEST, model.predict_proba(TEST)) < log_loss(Y_TEST, plain.predict_proba(TEST))
    rows = model[-1]._rows(model[:-1].transform(TEST))
    tells = model[-1]._evidence(rows, model[-1]._linear_model()) == 1  # others are near the shares of the classes
    assert tells.mean() > 0.98
    assert (model.predict(TEST) == plain.predict(TEST))[tells].all()
    temperature = model[-1].temperature_
    assert temperature > 1.2
    logits = model.decision_function(TEST)[tells]
    np.testing.assert_allclose(logits, plain.decision_function(TEST)[tells] / temperature, rtol=1e-12)
    assert plain[-1].temperature_ == 1


def test_partial_fit_changes_the_temperature_by_rows_it_was_not_trained_on(model):
    again = pickle.loads(pickle.dumps(model[-1]))
    again.partial_fit(model[:-1].transform(TEST), Y_TEST)
    assert 0.5 < again.temperature_ / model[-1].temperature_ < 2
    assert again.set_params(calibrate=False).partial_fit(model[:-1].transform(TEST), Y_TEST).temperature_ > 0


def test_the_temperature_is_fitted_on_validation_rows_if_there_are_any():
    temperatures = {
        calibrate: make_text_classifier(max_epochs=3, loss="softmax", random_state=0)
        .set_params(classifier__calibrate=calibrate, classifier__early_stopping=EarlyStopping(validation_fraction=0.3))
        .fit(TRAIN, Y_TRAIN)[-1]
        .temperature_
        for calibrate in ("auto", False)
    }
    assert temperatures["auto"] > 1.2
    assert temperatures[False] == 1


@pytest.mark.parametrize("loss", ["ova", "hinge"])
def test_other_losses_have_calibrated_probabilities_too(loss):
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    model = HashEmbeddingClassifier(loss=loss, n_buckets=2**12, random_state=0).fit(rows[:N_TRAIN], Y_TRAIN)
    assert abs(overconfidence(model, rows[N_TRAIN:])) < 0.06


def test_several_labels_a_text_keep_their_decisions_and_have_calibrated_probabilities():
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    topics = np.stack([LABELS == "good", LABELS == "bad", [" w3 " in f" {text} " for text in TEXTS]], axis=1).astype(
        int
    )
    options = {"loss": "ova", "n_buckets": 2**12, "random_state": 0}
    model, plain = (
        HashEmbeddingClassifier(**options, calibrate=calibrate).fit(rows[:N_TRAIN], topics[:N_TRAIN])
        for calibrate in ("auto", False)
    )
    assert model.predict(rows).tolist() == plain.predict(rows).tolist()
    assert ((model.predict_proba(rows) > 0.5) == model.predict(rows)).all()
    ours, theirs = (log_loss(topics[N_TRAIN:, 0], m.predict_proba(rows[N_TRAIN:])[:, 0]) for m in (model, plain))
    assert ours < theirs


def test_a_small_network_its_integers_and_its_exported_file_have_one_temperature(tmp_path):
    network = SGNNClassifier(hidden_layer_sizes=(16,), max_epochs=4, learning_rate=0.01, random_state=0)
    model = make_pipeline(CharNgramFeaturizer(), SGNNProjector(n_projections=8), network).fit(TRAIN, Y_TRAIN)
    assert model[-1].temperature_ > 1.2
    small = quantize(model)
    assert small[-1].temperature_ == model[-1].temperature_
    export_predictor(small, tmp_path / "model.py")
    exported = runpy.run_path(str(tmp_path / "model.py"))
    np.testing.assert_allclose(exported["predict_proba"](TEST[:50]), small.predict_proba(TEST[:50]), rtol=1e-9)
