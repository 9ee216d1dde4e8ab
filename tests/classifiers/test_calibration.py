"""The calibrated probabilities of classifiers."""

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
    quantize_classifier,
)
from sklearn_hashnlp.training._validation_split import Samples
from tests.classifiers.hash_embedding.raw_scores import raw_scores
from tests.trainings import SEEDS, assert_as_good, assert_near, assert_same_bits

N_TRAIN = 800


def noisy_texts(n_texts=1600, n_words=300):
    """Return texts of many rare words, and labels that follow from the words in three of four
    texts.
    """
    generator = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(n_words)])
    rows = generator.integers(0, n_words, (n_texts, 6))
    votes = (rows % 3 == 0).sum(axis=1) - 2.0
    labels = np.where(generator.random(n_texts) < 0.25, generator.random(n_texts) < 0.5, votes > 0)
    return [" ".join(words[row]) for row in rows], np.where(labels, "good", "bad")


TEXTS, LABELS = noisy_texts()
TRAIN = TEXTS[:N_TRAIN]
Y_TRAIN = LABELS[:N_TRAIN]
TEST = TEXTS[N_TRAIN:]
Y_TEST = LABELS[N_TRAIN:]


def overconfidence(model, X=TEST, y=Y_TEST):
    """Return how much the mean probability of predicted labels is above the accuracy."""
    return model.predict_proba(X).max(axis=1).mean() - model.score(X, y)


@pytest.fixture(scope="module")
def model():
    """Train with the defaults for many texts."""
    return make_text_classifier(features="words", loss="softmax", random_state=0).fit(
        TRAIN, Y_TRAIN
    )


@pytest.fixture(scope="module")
def plain():
    """Train without calibration."""
    model = make_text_classifier(features="words", loss="softmax", random_state=0)
    return model.set_params(classifier__calibrate=False).fit(TRAIN, Y_TRAIN)


def test_calibration_moves_scores_towards_the_class_shares(model, plain):
    assert abs(overconfidence(model)) < 0.05
    assert overconfidence(plain) > 0.1
    X = model[:-1].transform(TEST)
    scores, others = (raw_scores(one[-1], X) for one in (model, plain))
    assert_same_bits(scores, others)  # calibration does not train
    assert model[-1].temperature_ > 1.2
    assert plain[-1].temperature_ == 1
    labels = model.classes_[scores.argmax(axis=1)]
    # others are near the shares of the classes
    assert (model.predict(TEST) == labels).mean() > 0.98
    lengths, calibration = model[-1]._model.lengths(model[-1]._rows(X)), model[-1]._calibration
    shares = lengths**3 / (lengths**3 + calibration.half**3)
    prior = model[-1]._loss.prior_scores(calibration.class_counts)
    moved = shares[:, np.newaxis] * scores + (1 - shares[:, np.newaxis]) * prior
    logits = (moved[:, 1] - moved[:, 0]) / model[-1].temperature_
    assert_near(model.decision_function(TEST), logits, rtol=1e-9)


def test_partial_fit_changes_the_temperature_by_rows_it_was_not_trained_on(model):
    again = pickle.loads(pickle.dumps(model[-1]))
    again.partial_fit(model[:-1].transform(TEST), Y_TEST)
    assert_near(again.temperature_, model[-1].temperature_, rtol=0.5)
    assert (
        again.set_params(calibrate=False)
        .partial_fit(model[:-1].transform(TEST), Y_TEST)
        .temperature_
        > 0
    )


@pytest.mark.parametrize("loss", ["ova", "hinge"])
def test_other_losses_have_calibrated_probabilities_too(loss):
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    model = HashEmbeddingClassifier(loss=loss, n_buckets=2**12, random_state=0).fit(
        rows[:N_TRAIN], Y_TRAIN
    )
    assert abs(overconfidence(model, rows[N_TRAIN:])) < 0.15  # 0.07 to 0.11 with six seeds


def test_calibrated_multilabel_models_keep_their_decisions():
    rows = HashingNgramVectorizer(norm=None, alternate_sign=False).transform(TEXTS)
    topics = np.stack(
        [LABELS == "good", LABELS == "bad", [" w3 " in f" {text} " for text in TEXTS]], axis=1
    ).astype(int)
    losses = []
    for seed in SEEDS:
        options = {
            "loss": "ova",
            "n_buckets": 2**12,
            "n_embeddings": 2**14,
            "max_epochs": 12,
            "random_state": seed,
        }
        model, plain = (
            HashEmbeddingClassifier(**options, calibrate=calibrate).fit(
                rows[:N_TRAIN], topics[:N_TRAIN]
            )
            for calibrate in ("auto", False)
        )
        assert_same_bits(raw_scores(model, rows), raw_scores(plain, rows))
        assert (model.predict(rows) == (raw_scores(model, rows) > 0)).mean() > 0.95
        assert ((model.predict_proba(rows) > 0.5) == model.predict(rows)).all()
        losses.append(
            [
                log_loss(topics[N_TRAIN:, 0], m.predict_proba(rows[N_TRAIN:])[:, 0])
                for m in (plain, model)
            ]
        )
    assert_as_good(*np.transpose(losses), margin=0)


def test_network_quantized_and_exported_model_share_a_temperature(tmp_path):
    network = SGNNClassifier(
        hidden_layer_sizes=(16,), max_epochs=4, learning_rate=0.01, random_state=0
    )
    model = make_pipeline(CharNgramFeaturizer(), SGNNProjector(n_projections=8), network).fit(
        TRAIN, Y_TRAIN
    )
    assert model[-1].temperature_ > 1.2
    small = quantize_classifier(model)
    assert small[-1].temperature_ == model[-1].temperature_
    export_predictor(small, tmp_path / "model.py")
    exported = runpy.run_path(str(tmp_path / "model.py"))
    np.testing.assert_allclose(
        exported["predict_proba"](TEST[:50]), small.predict_proba(TEST[:50]), rtol=1e-9
    )


def test_rows_do_not_outlive_a_training_that_learned_nothing():
    rows = HashingNgramVectorizer().transform(TEXTS)
    labels = np.random.default_rng(0).integers(0, 3, len(TEXTS))
    model = HashEmbeddingClassifier(
        n_buckets=2**8, n_embeddings=2**8, max_epochs=1, random_state=0
    ).fit(rows, labels)
    assert model.temperature_ == 1
    held = [value for callback in model.net_.callbacks for value in vars(callback).values()]
    held += [part for value in held if isinstance(value, tuple) for part in value]
    assert not any(isinstance(value, Samples) for value in held)
