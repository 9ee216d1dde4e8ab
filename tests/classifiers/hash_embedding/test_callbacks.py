"""skorch's own callbacks inside HashEmbeddingClassifier, and what ends a training."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from skorch.callbacks import Callback, Checkpoint, EpochScoring, LRScheduler
from skorch.callbacks import EarlyStopping as StopEarly

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseDataset
from sklearn_hashnlp.training import EarlyStopping, Schedule

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((200, 60)) < 0.1) * RNG.random((200, 60)), dtype=np.float32)
Y = np.array(["no", "perhaps", "yes"])[np.digitize(X[:, :30].sum(axis=1) - X[:, 30:].sum(axis=1), [-0.5, 0.5])]
SMALL = {"n_buckets": 300, "n_embeddings": 1000, "random_state": 0}
STOPPING = {"early_stopping": EarlyStopping(validation_fraction=0.25)}


class ByHand(Callback):
    """Scores the net on its rows without skorch's help."""

    def __init__(self, on_train):
        self.on_train = on_train

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        rows = dataset_train if self.on_train else dataset_valid
        predicted = net.score_rows(rows).argmax(axis=1)
        net.history.record("hand_accuracy", accuracy_score(rows.targets, predicted))
        net.history.record("hand_f1_macro", f1_score(rows.targets, predicted, average="macro"))


@pytest.mark.parametrize("on_train", [False, True])
@pytest.mark.parametrize("use_caching", [False, True])
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro"])
def test_epoch_scoring(scoring, use_caching, on_train):
    name = f"my_{scoring}"
    scores = EpochScoring(scoring, lower_is_better=False, on_train=on_train, name=name, use_caching=use_caching)
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, max_epochs=3, callbacks=[scores, ByHand(on_train)])
    for _ in range(2):  # the second time with the same objects
        history = model.fit(X, Y).net_.history
        found, expected = history[:, name], history[:, f"hand_{scoring}"]
        assert len(found) == 3
        if on_train and use_caching:  # predicted while the weights moved
            assert all(0 < score <= 1 for score in found)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert history[0, f"{name}_best"] is True


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", "balanced_accuracy"])
def test_epoch_scoring_by_probabilities(scoring):
    callback = EpochScoring(scoring, lower_is_better=False, use_caching=False)
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, callbacks=[callback]).fit(X, Y)
    assert np.isfinite(model.net_.history[:, scoring]).all()


class Probabilities(Callback):
    """Asks the net for the probabilities of its rows."""

    def on_epoch_end(self, net, dataset_train=None, **kwargs):
        self.seen = net.predict_proba(dataset_train)
        self.predicted = net.predict(dataset_train)


@pytest.mark.parametrize("loss", ["softmax", "ova", "hinge", "hsigmoid"])
def test_callbacks_and_predict_proba_agree(loss):
    callback = Probabilities()
    options = SMALL | {"calibrate": False, "max_epochs": 1, "schedule": None}
    model = HashEmbeddingClassifier(**options, loss=loss, callbacks=[callback]).fit(X, Y)
    np.testing.assert_allclose(callback.seen.sum(axis=1), 1, rtol=1e-6)
    assert model.classes_[callback.predicted].tolist() == model.predict(X).tolist()
    again = model.net_.predict_proba(SparseDataset(X))  # with the temperature of "hinge", which is fitted at the end
    np.testing.assert_allclose(again, model.predict_proba(X), rtol=1e-5)
    if loss != "hinge":
        np.testing.assert_allclose(callback.seen, model.predict_proba(X), rtol=1e-5)


def test_callbacks_see_each_label_of_a_row_by_itself():
    callback, indicators = Probabilities(), np.stack([Y == "no", Y != "yes"], axis=1).astype(int)
    options = SMALL | {"loss": "ova", "calibrate": False, "max_epochs": 1, "schedule": None}
    model = HashEmbeddingClassifier(**options, callbacks=[callback]).fit(X, indicators)
    np.testing.assert_allclose(callback.seen, model.predict_proba(X), rtol=1e-5)
    assert callback.predicted.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])  # starts processes
def test_callbacks_in_a_parallel_search(backend):
    callback = EpochScoring("accuracy", lower_is_better=False, on_train=True, use_caching=False)
    model = HashEmbeddingClassifier(**SMALL, callbacks=[callback])
    model = pickle.loads(pickle.dumps(model))  # as processes get it
    search = GridSearchCV(model, {"max_epochs": [1, 2]}, cv=2, n_jobs=2, error_score="raise")
    with joblib.parallel_config(backend=backend):
        search.fit(X, Y)
    assert len(search.best_estimator_.net_.history[:, "accuracy"]) == search.best_params_["max_epochs"]


def test_a_schedule_of_learning_rates():
    class Rates(Callback):
        def on_epoch_end(self, net, **kwargs):
            net.history.record("lr", [group["lr"] for group in net.optimizer_.param_groups])

    schedule = LRScheduler("StepLR", step_size=1, gamma=0.5, step_every="epoch")
    model = HashEmbeddingClassifier(**SMALL, max_epochs=3, learning_rate=0.4, callbacks=[Rates(), schedule])
    for _ in range(2):
        model.fit(X, Y)
        assert model.net_.history[:, "lr"] == [[0.4, 0.4], [0.2, 0.2], [0.1, 0.1]]


def test_checkpoints(tmp_path):
    checkpoint = Checkpoint(monitor="valid_acc_best", dirname=str(tmp_path), f_pickle=None)
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, max_epochs=4, callbacks=[checkpoint])
    for _ in range(2):
        model.fit(X, Y)
        saved = torch.load(tmp_path / "params.pt", weights_only=True)
        for name, value in model.net_.module_.state_dict().items():  # the best epoch's, both
            assert torch.equal(value, saved[name]), name


def test_classes_and_pairs_are_callbacks_too():
    model = HashEmbeddingClassifier(**SMALL, callbacks=[ByHandOnTraining, ("mine", ByHand(True))]).fit(X, Y)
    assert [name for name, _ in model.net_.callbacks_ if name in ("mine", "ByHandOnTraining")] == [
        "ByHandOnTraining",
        "mine",
    ]


class ByHandOnTraining(ByHand):
    def __init__(self):
        super().__init__(on_train=True)


@pytest.mark.parametrize(
    "item",
    [3, "accuracy", len, int, (ByHand(True), "name"), ("name", 3), ("a", "b", "c")],
    ids=["3", "text", "function", "class", "swapped", "no callback", "three"],
)
def test_what_is_no_callback_is_named(item):
    model = HashEmbeddingClassifier(**SMALL, callbacks=[ByHand(True), item])
    with pytest.raises(ValueError, match=r"The 'callbacks' parameter .* hold skorch callbacks.* at position 1 instead"):
        model.fit(X, Y)


class Interrupt(Callback):
    """Ends training in an epoch and at one of its stages."""

    def __init__(self, epoch, training=True):
        self.epoch = epoch
        self.training = training

    def on_batch_begin(self, net, training=False, **kwargs):
        if training is self.training and len(net.history) == self.epoch:
            raise KeyboardInterrupt


@pytest.mark.parametrize("options", [{}, STOPPING], ids=["plain", "early stopping"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("epoch", [1, 3])
def test_an_interrupt_of_a_callback_leaves_finished_epochs_only(options, epoch, training):
    if not options and not training:
        return  # nothing is validated
    model = HashEmbeddingClassifier(**SMALL, **options, max_epochs=9, callbacks=[Interrupt(epoch, training)])
    model.fit(X, Y)
    keys = {"epoch", "train_loss", "dur"} | ({"valid_loss", "valid_acc"} if options else set())
    assert [set(entry) for entry in model.history_] == [keys] * (epoch - 1)
    assert [entry["epoch"] for entry in model.history_] == list(range(1, epoch))
    assert len(model.net_.history) == epoch - 1
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("callbacks", [[], [StopEarly(patience=1, monitor="valid_acc", lower_is_better=False)]])
def test_a_stop_for_want_of_improvement_is_no_interrupt_and_prints_every_epoch(callbacks, capsys):
    model = HashEmbeddingClassifier(
        **SMALL,
        early_stopping=EarlyStopping(patience=50 if callbacks else 1, validation_fraction=0.25),
        max_epochs=50,
        callbacks=callbacks,
        verbose=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
    assert 1 < len(model.history_) < 50
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [int(line[0]) for line in lines if line and line[0].isdigit()] == [e["epoch"] for e in model.history_]


def test_a_fit_that_fails_before_its_first_step_changes_no_probability():
    model = HashEmbeddingClassifier(**SMALL, loss="hinge", warm_start=True, max_epochs=1).fit(X, Y)
    expected = model.predict_proba(X).tobytes()
    model.set_params(callbacks=[("twice", ByHand(True)), ("twice", ByHand(True))])
    with pytest.raises(ValueError, match="duplicate"):
        model.fit(X, Y)
    assert model.predict_proba(X).tobytes() == expected


def test_names_of_callbacks_are_the_users():
    names = ["early_stopping", "lr_plateau", "linear_schedule", "progress_bar", "checkpoints"]
    callbacks = [(name, Probabilities()) for name in names]
    options = {"schedule": Schedule("linear", plateau=(2, 0.5), average=True), "max_epochs": 1}
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, **options, callbacks=callbacks).fit(X, Y)
    assert all(name in dict(model.net_.callbacks_) for name in names)
