"""Temperatures found by maximum likelihood, and the calibrated probabilities of classifiers."""

from __future__ import annotations

import pickle
import runpy

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax as scipy_softmax
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
    quantize_classifier,
)
from sklearn_hashnlp.classifiers import _temperature
from tests.trainings import SEEDS, assert_as_good, assert_near, assert_same_bits

RNG = np.random.default_rng(0)
OTHER_SCORES = RNG.normal(0, 2, (50, 4))


def fit_inverse_temperature(scores, targets, weights, **options):
    """Fit with the targets smoothed by a row per class."""
    return _temperature.fit_inverse_temperature(scores, targets, weights, **{"n_uniform": scores.shape[1]} | options)


def softmax(scores):
    return scipy_softmax(scores, axis=1)


@pytest.mark.parametrize("inverse_temperature", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_inverse_temperature_that_drew_the_targets_is_found(inverse_temperature, n_classes):
    scores = RNG.normal(0, 1, (20_000, n_classes))
    targets = (softmax(inverse_temperature * scores).cumsum(axis=1) < RNG.random((20_000, 1))).sum(axis=1)
    assert fit_inverse_temperature(scores, targets, None) == pytest.approx(inverse_temperature, rel=0.05)


@pytest.mark.parametrize("known_rows", [0, 150])
def test_it_is_the_maximum_of_the_likelihood_with_smoothed_targets_and_the_previous_temperature(known_rows):
    """The previous temperature draws the labels of as many rows as it counts for."""
    targets = np.where(RNG.random(50) < 0.5, OTHER_SCORES.argmax(axis=1), RNG.integers(0, 4, 50))
    weights = None if known_rows else RNG.random(50).astype(np.float32)
    aim = np.full((50, 4), 1 / (50 + known_rows + 4))
    aim[np.arange(50), targets] = (50 + known_rows + 1) / (50 + known_rows + 4)
    share = known_rows / (50 + known_rows)
    aim = (1 - share) * aim + share * softmax(2 * OTHER_SCORES)

    def loss(factor):
        rows = -(aim * np.log(softmax(factor * OTHER_SCORES))).sum(axis=1)
        return rows.sum() if weights is None else weights @ rows

    expected = minimize_scalar(loss, bounds=(1e-3, 10), method="bounded").x
    found = fit_inverse_temperature(OTHER_SCORES, targets, weights, known=2.0, known_rows=known_rows)
    assert found == pytest.approx(expected, rel=1e-3)
    assert 0.1 < found < 5
    plain = fit_inverse_temperature(OTHER_SCORES, targets, None)
    assert fit_inverse_temperature(OTHER_SCORES, targets, np.zeros(50, dtype=np.float32)) == plain
    if known_rows:
        assert min(plain, 2) < found < max(plain, 2)


def test_fitting_row_by_row_converges_to_the_fit_of_all_rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (2000, 3))
    targets = (softmax(3 * scores).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    found = fit_inverse_temperature(scores[:50], targets[:50], None)
    for row in range(50, 2000):
        one = slice(row, row + 1)
        found = fit_inverse_temperature(scores[one], targets[one], None, known=found, known_rows=row)
    assert found == pytest.approx(fit_inverse_temperature(scores, targets, None), rel=0.05)


def test_scores_that_tell_all_rows_right_have_a_finite_inverse_temperature():
    scores = np.repeat(np.eye(3), 100, axis=0)
    found = fit_inverse_temperature(scores, np.repeat(np.arange(3), 100), None)
    # 301 of 303 for the row's class and 1 of 303 for another: odds of 301
    assert found == pytest.approx(np.log(301), rel=1e-3)


N_TRAIN = 800


def noisy_texts(n_texts=1600, n_words=300):
    """Return texts of many rare words, and labels that follow from the words in three of four texts."""
    generator = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(n_words)])
    rows = generator.integers(0, n_words, (n_texts, 6))
    votes = (rows % 3 == 0).sum(axis=1) - 2.0
    labels = np.where(generator.random(n_texts) < 0.25, generator.random(n_texts) < 0.5, votes > 0)
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


def test_calibration_repairs_probabilities_and_changes_no_prediction(model, plain):
    assert abs(overconfidence(model)) < 0.05
    assert overconfidence(plain) > 0.1
    rows = model[-1]._rows(model[:-1].transform(TEST))
    tells = model[-1]._evidence(rows) == 1  # others are near the shares of the classes
    assert tells.mean() > 0.98
    assert_same_bits(model.predict(TEST)[tells], plain.predict(TEST)[tells])
    temperature = model[-1].temperature_
    assert temperature > 1.2
    logits = model.decision_function(TEST)[tells]
    assert_near(logits, plain.decision_function(TEST)[tells] / temperature, rtol=1e-12)
    assert plain[-1].temperature_ == 1


def test_partial_fit_changes_the_temperature_by_rows_it_was_not_trained_on(model):
    again = pickle.loads(pickle.dumps(model[-1]))
    again.partial_fit(model[:-1].transform(TEST), Y_TEST)
    assert_near(again.temperature_, model[-1].temperature_, rtol=0.5)
    assert again.set_params(calibrate=False).partial_fit(model[:-1].transform(TEST), Y_TEST).temperature_ > 0


@pytest.mark.parametrize("loss", ["ova", "hinge"])
def test_other_losses_have_calibrated_probabilities_too(loss):
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    model = HashEmbeddingClassifier(loss=loss, n_buckets=2**12, random_state=0).fit(rows[:N_TRAIN], Y_TRAIN)
    assert abs(overconfidence(model, rows[N_TRAIN:])) < 0.15  # 0.07 to 0.11 with six seeds


def test_several_labels_a_text_keep_their_decisions_and_have_calibrated_probabilities():
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    topics = np.stack([LABELS == "good", LABELS == "bad", [" w3 " in f" {text} " for text in TEXTS]], axis=1).astype(
        int
    )
    losses = []
    for seed in SEEDS:
        options = {"loss": "ova", "n_buckets": 2**12, "random_state": seed}
        model, plain = (
            HashEmbeddingClassifier(**options, calibrate=calibrate).fit(rows[:N_TRAIN], topics[:N_TRAIN])
            for calibrate in ("auto", False)
        )
        # Rows of frequent columns alone are near the shares of the classes: how near depends on the temperature.
        clear = (model._scores(rows) == model.net_.score_rows(model._rows(rows))).all(axis=1)
        assert clear.mean() > 0.5
        assert_same_bits(model.predict(rows)[clear], plain.predict(rows)[clear])
        assert ((model.predict_proba(rows) > 0.5) == model.predict(rows)).all()
        losses.append([log_loss(topics[N_TRAIN:, 0], m.predict_proba(rows[N_TRAIN:])[:, 0]) for m in (plain, model)])
    assert_as_good(*np.transpose(losses), margin=0)


def test_a_small_network_its_integers_and_its_exported_file_have_one_temperature(tmp_path):
    network = SGNNClassifier(hidden_layer_sizes=(16,), max_epochs=4, learning_rate=0.01, random_state=0)
    model = make_pipeline(CharNgramFeaturizer(), SGNNProjector(n_projections=8), network).fit(TRAIN, Y_TRAIN)
    assert model[-1].temperature_ > 1.2
    small = quantize_classifier(model)
    assert small[-1].temperature_ == model[-1].temperature_
    export_predictor(small, tmp_path / "model.py")
    exported = runpy.run_path(str(tmp_path / "model.py"))
    np.testing.assert_allclose(exported["predict_proba"](TEST[:50]), small.predict_proba(TEST[:50]), rtol=1e-9)
