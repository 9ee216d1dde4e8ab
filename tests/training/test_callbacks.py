"""Callbacks: reports of progress, limits, and those of skorch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from skorch.callbacks import EarlyStopping as SkorchEarlyStopping
from skorch.callbacks import EpochScoring, LRScheduler

from sklearn_hashnlp import HsigmoidLanguageModel, load_model, save_model
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.training import EarlyStopping, StepLog, TimeLimit
from sklearn_hashnlp.training._callbacks import EpochProgress, LanguageProgress
from tests.trainings import assert_same_bits

ROWS = np.random.RandomState(0).random_sample((24, 8))
LABELS = np.arange(24) % 2
SENTENCES = ["the cat sat on the mat", "the dog sat on the rug"] * 5  # 70 words with </s>


def test_every_batch_moves_the_bar_and_every_epoch_has_a_line() -> None:
    lines: list[str] = []
    moves: list[tuple[int, int]] = []
    progress = EpochProgress(lines.append, lambda done, total: moves.append((done, total)))
    model = HashEmbeddingClassifier(n_buckets=20, n_embeddings=20, callbacks=[progress], max_epochs=2, batch_size=10)
    for _ in range(2):  # a second training begins at zero
        lines.clear()
        moves.clear()
        model.fit(ROWS, LABELS)
        assert moves == [(10, 48), (20, 48), (24, 48), (34, 48), (44, 48), (48, 48)]
        assert [line.split("   ")[0] for line in lines] == ["Epoch 1/2", "Epoch 2/2"]


def test_the_line_of_an_epoch_has_the_validation_accuracy() -> None:
    lines: list[str] = []
    progress = EpochProgress(lines.append, lambda done, total: None)
    parameters = {"callbacks": [progress], "early_stopping": EarlyStopping(validation_fraction=0.3), "max_epochs": 1}
    model = HashEmbeddingClassifier(n_buckets=20, n_embeddings=20, random_state=0, **parameters)
    model.fit(np.tile(ROWS, (4, 1)), np.tile(LABELS, 4))
    assert f"validation accuracy {model.history_[0]['valid_acc']:.4f}" in lines[0]


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.moves: list[tuple[int, int, str]] = []
        self.callback = LanguageProgress(self.lines.append, lambda *move: self.moves.append(move))


def model(told: Told, **parameters: Any) -> HsigmoidLanguageModel:
    sizes = {"order": 3, "embedding_dim": 4, "hidden_size": 4, "batch_size": 32, "max_epochs": 2, "random_state": 0}
    return HsigmoidLanguageModel(**sizes | parameters, callbacks=[told.callback])


def test_batches_move_and_epochs_tell() -> None:
    told = Told()
    trained = model(told)
    for _ in range(2):  # a second training begins at zero
        told.lines.clear()
        told.moves.clear()
        trained.fit(SENTENCES)
        assert [move[:2] for move in told.moves] == [(n, 140) for n in (0, 32, 64, 70, 70, 102, 134, 140)]
        assert told.moves[0][2] == "Epoch 1/2"
        perplexity = trained.history_[1]["train_perplexity"]
        assert [line.split("   ")[0] for line in told.lines] == ["Epoch 1/2", "Epoch 2/2"]
        assert f"training perplexity {perplexity:.2f}" in told.lines[1]
        text, number = told.moves[-1][2].rsplit(" ", 1)
        assert text == "Epoch 2/2, perplexity"
        assert abs(float(number) / perplexity - 1) < 0.1  # batches of unequal size count the same


def test_the_log_and_validation_are_told() -> None:
    told = Told()
    trained = model(told).set_params(callbacks=[StepLog(2), told.callback]).fit(SENTENCES, X_valid=SENTENCES[:2])
    assert len(trained.log_) == 2
    assert [line.split("   ")[0] for line in told.lines] == ["  step 2", "Epoch 1/2", "  step 2", "Epoch 2/2"]
    assert all("validation perplexity" in line for line in told.lines)
    assert f"validation perplexity {trained.perplexity(SENTENCES[:2]):.2f}" in told.lines[-1]


def test_epochs_before_an_interruption_count(tmp_path: Path) -> None:
    told = Told()
    model(told, checkpoint_dir=tmp_path, max_epochs=1).fit(SENTENCES)
    told.lines.clear()
    told.moves.clear()
    model(told, checkpoint_dir=tmp_path, max_epochs=3, resume=True).fit(SENTENCES)
    assert [line.split("   ")[0] for line in told.lines] == ["Epoch 2/3", "Epoch 3/3"]
    assert told.moves[0] == (70, 210, "Epoch 2/3")
    assert told.moves[-1][:2] == (210, 210)


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


def test_of_several_time_limits_the_shortest_holds_and_partial_fit_has_none():
    X, y = np.eye(40), [0, 1] * 20
    options = {"n_buckets": 9, "n_embeddings": 99, "batch_size": 1, "max_epochs": 9, "random_state": 0}
    for limits in ([TimeLimit(1e-9), TimeLimit(100)], [TimeLimit(100), TimeLimit(1e-9)]):
        limited = HashEmbeddingClassifier(**options, callbacks=limits)
        assert len(limited.fit(X, y).history_) == 1
        free = HashEmbeddingClassifier(**options).partial_fit(X, y, classes=[0, 1])
        limited = clone(limited).partial_fit(X, y, classes=[0, 1])
        assert_same_bits(limited.decision_function(X), free.decision_function(X))


@pytest.mark.parametrize("callback", [TimeLimit("5"), TimeLimit(0), StepLog("5"), StepLog(1.5), StepLog(0)], ids=str)
def test_wrong_numbers_of_callbacks(callback):
    model = HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, callbacks=[callback])
    with pytest.raises(ValueError, match=f"{type(callback).__name__} needs a"):
        model.fit(["a b c"])


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
        with_callback(SkorchEarlyStopping(), estimator).fit(*data_of(estimator))


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
