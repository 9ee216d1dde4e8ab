"""Callbacks of skorch: what they need, and what they measured."""

from __future__ import annotations

import numpy as np
import pytest
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler

from sklearn_hashnlp.classifiers import SGNNClassifier
from sklearn_hashnlp.language import HsigmoidLanguageModel

SENTENCES = ["the company said it rose", "the cat sat on the mat"] * 4


def with_callback(callback, estimator=HsigmoidLanguageModel, **options):
    if estimator is SGNNClassifier:
        return SGNNClassifier(hidden_layer_sizes=(2,), max_epochs=2, callbacks=[callback], random_state=0, **options)
    sizes = {"order": 2, "embedding_dim": 2, "hidden_size": 2, "max_epochs": 2}
    return HsigmoidLanguageModel(**sizes, callbacks=[callback], random_state=0, **options)


def data_of(estimator):
    return (np.eye(4, dtype=np.float32), [0, 1, 0, 1]) if estimator is SGNNClassifier else (SENTENCES,)


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (HsigmoidLanguageModel, "Pass X_valid to fit, or set early_stopping='valid_loss'"),
        (SGNNClassifier, "Set early_stopping"),
    ],
)
def test_a_callback_without_its_validation_set_says_how_to_get_one(estimator, advice):
    with pytest.raises(ValueError, match=rf"The callback EarlyStopping needs a validation set: .*{advice}"):
        with_callback(EarlyStopping(), estimator).fit(*data_of(estimator))


@pytest.mark.parametrize("estimator", [HsigmoidLanguageModel, SGNNClassifier])
def test_two_schedules_of_the_learning_rate_are_not_multiplied_silently(estimator):
    schedule = LRScheduler("StepLR", step_size=1)
    with pytest.warns(UserWarning, match="Set a schedule with decay='constant'"):
        with_callback(schedule, estimator).fit(*data_of(estimator))
    with_callback(schedule, estimator, schedule=None).fit(*data_of(estimator))


def test_the_history_holds_what_callbacks_measured():
    scoring = EpochScoring(lambda net, X, y: np.float32(0.5), name="foo", on_train=True)
    plain = HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(SENTENCES)
    assert list(plain.history_[0]) == ["epoch", "train_loss", "train_perplexity", "dur"]
    model = with_callback(scoring).fit(SENTENCES)
    assert [entry["foo"] for entry in model.history_] == [0.5, 0.5]
    assert {type(value) for entry in model.history_ for value in entry.values()} == {int, float}
