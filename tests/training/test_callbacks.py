"""Callbacks: limits, logs, and those of skorch."""

import numpy as np
import pytest
from sklearn.base import clone
from skorch.callbacks import EarlyStopping as SkorchEarlyStopping
from skorch.callbacks import EpochScoring, LRScheduler

from sklearn_hashnlp import HsigmoidLanguageModel, load_model, save_model
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.trainings import assert_same_bits

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug"] * 5  # 70 words with </s>


@pytest.mark.parametrize("callback", [StepLog(2), TimeLimit(60.0)])
def test_a_callback_is_cloned_and_left_out_of_the_saved_model_after_fit(callback, tmp_path):
    options = {"order": 3, "embedding_dim": 4, "hidden_size": 4, "max_epochs": 1, "random_state": 0}
    model = HsigmoidLanguageModel(**options, callbacks=[("named", callback)])
    model.fit(["a b c", "b c d"] * 9)
    assert repr(clone(model)) == repr(model)
    assert repr(callback) in repr(model)
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").callbacks is None
    assert model.callbacks == [("named", callback)]


def test_the_shortest_time_limit_holds_but_not_for_partial_fit():
    X, y = np.eye(40), [0, 1] * 20
    options = {
        "n_buckets": 9,
        "n_embeddings": 99,
        "batch_size": 1,
        "max_epochs": 9,
        "random_state": 0,
    }
    for limits in ([TimeLimit(1e-9), TimeLimit(100)], [TimeLimit(100), TimeLimit(1e-9)]):
        limited = HashEmbeddingClassifier(**options, callbacks=limits)
        assert len(limited.fit(X, y).history_) == 1
        free = HashEmbeddingClassifier(**options).partial_fit(X, y, classes=[0, 1])
        limited = clone(limited).partial_fit(X, y, classes=[0, 1])
        assert_same_bits(limited.decision_function(X), free.decision_function(X))


@pytest.mark.parametrize(
    "callback", [TimeLimit("5"), TimeLimit(0), StepLog("5"), StepLog(1.5), StepLog(0)], ids=str
)
def test_wrong_numbers_of_callbacks(callback):
    model = HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, callbacks=[callback])
    with pytest.raises(ValueError, match=f"{type(callback).__name__} needs a"):
        model.fit(["a b c"])


def with_callback(callback, estimator=HsigmoidLanguageModel, **options):
    if estimator is SGNNClassifier:
        return SGNNClassifier(
            hidden_layer_sizes=(2,), max_epochs=2, callbacks=[callback], random_state=0, **options
        )
    sizes = {"order": 2, "embedding_dim": 2, "hidden_size": 2, "max_epochs": 2}
    return HsigmoidLanguageModel(**sizes, callbacks=[callback], random_state=0, **options)


def data_of(estimator):
    return (
        (np.eye(4, dtype=np.float32), [0, 1, 0, 1]) if estimator is SGNNClassifier else (SENTENCES,)
    )


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (HsigmoidLanguageModel, "Pass X_valid to fit, or set early_stopping='valid_loss'"),
        (SGNNClassifier, "Set early_stopping"),
    ],
)
def test_a_callback_without_its_validation_set_says_how_to_get_one(estimator, advice):
    with pytest.raises(
        ValueError, match=rf"The callback EarlyStopping needs a validation set: .*{advice}"
    ):
        with_callback(SkorchEarlyStopping(), estimator).fit(*data_of(estimator))


@pytest.mark.parametrize("estimator", [HsigmoidLanguageModel, SGNNClassifier])
def test_two_schedules_of_the_learning_rate_are_not_multiplied_silently(estimator):
    schedule = LRScheduler("StepLR", step_size=1)
    with pytest.warns(UserWarning, match="Set a schedule with decay='constant'"):
        with_callback(schedule, estimator).fit(*data_of(estimator))
    with_callback(schedule, estimator, schedule=None).fit(*data_of(estimator))


def test_the_history_holds_what_callbacks_measured():
    scoring = EpochScoring(lambda net, X, y: np.float32(0.5), name="foo", on_train=True)
    plain = HsigmoidLanguageModel(
        order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0
    ).fit(SENTENCES)
    assert list(plain.history_[0]) == ["epoch", "train_loss", "train_perplexity", "dur"]
    model = with_callback(scoring).fit(SENTENCES)
    assert [entry["foo"] for entry in model.history_] == [0.5, 0.5]
    assert {type(value) for entry in model.history_ for value in entry.values()} == {int, float}
