"""skorch's own callbacks inside HashEmbeddingClassifier, and what ends a training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, f1_score
from skorch.callbacks import Callback, Checkpoint, EpochScoring

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseDataset
from sklearn_hashnlp.training import EarlyStopping, Schedule

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((200, 60)) < 0.1) * RNG.random((200, 60)), dtype=np.float32)
Y = np.array(["no", "perhaps", "yes"])[
    np.digitize(X[:, :30].sum(axis=1) - X[:, 30:].sum(axis=1), [-0.5, 0.5])
]
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


@pytest.mark.parametrize(
    ("scoring", "use_caching", "on_train"),
    [
        ("accuracy", False, False),
        ("accuracy", True, True),
        ("f1_macro", True, False),
        ("f1_macro", False, True),
    ],
)
def test_epoch_scoring(scoring, use_caching, on_train):
    name = f"my_{scoring}"
    scores = EpochScoring(
        scoring, lower_is_better=False, on_train=on_train, name=name, use_caching=use_caching
    )
    model = HashEmbeddingClassifier(
        **SMALL, **STOPPING, max_epochs=3, callbacks=[scores, ByHand(on_train)]
    )
    for _ in range(2):  # the second time with the same objects
        history = model.fit(X, Y).net_.history
        found, expected = history[:, name], history[:, f"hand_{scoring}"]
        assert len(found) == 3
        if on_train and use_caching:  # predicted while the weights moved
            assert all(0 < score <= 1 for score in found)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert history[0, f"{name}_best"] is True


class Probabilities(Callback):
    """Asks the net for the probabilities of its rows."""

    def on_epoch_end(self, net, dataset_train=None, **kwargs):
        self.seen = net.predict_proba(dataset_train)
        self.predicted = net.predict(dataset_train)


SEVERAL = np.stack([Y == "no", Y != "yes"], axis=1).astype(int)


@pytest.mark.parametrize(
    ("loss", "y"),
    [("softmax", Y), ("ova", Y), ("hinge", Y), ("hsigmoid", Y), ("ova", SEVERAL)],
    ids=["softmax", "ova", "hinge", "hsigmoid", "several labels"],
)
def test_callbacks_and_predict_proba_agree(loss, y):
    callback = Probabilities()
    options = SMALL | {"calibrate": False, "max_epochs": 1, "schedule": None}
    model = HashEmbeddingClassifier(**options, loss=loss, callbacks=[callback]).fit(X, y)
    labels = callback.predicted if y is SEVERAL else model.classes_[callback.predicted]
    assert labels.tolist() == model.predict(X).tolist()
    # with the temperature of "hinge", which is fitted at the end
    again = model.net_.predict_proba(SparseDataset(X))
    np.testing.assert_allclose(again, model.predict_proba(X), rtol=1e-5)
    if loss != "hinge":
        np.testing.assert_allclose(callback.seen, model.predict_proba(X), rtol=1e-5)


def test_checkpoints(tmp_path):
    checkpoint = Checkpoint(monitor="valid_acc_best", dirname=str(tmp_path), f_pickle=None)
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, max_epochs=4, callbacks=[checkpoint])
    for _ in range(2):
        model.fit(X, Y)
        saved = torch.load(tmp_path / "params.pt", weights_only=True)
        for name, value in model.net_.module_.state_dict().items():  # the best epoch's, both
            assert torch.equal(value, saved[name]), name


@pytest.mark.parametrize(
    "item",
    [3, "accuracy", int, (ByHand(True), "name"), ("name", 3), ("a", "b", "c")],
    ids=["3", "text", "class", "swapped", "no callback", "three"],
)
def test_invalid_callbacks_are_refused_by_position(item):
    model = HashEmbeddingClassifier(**SMALL, callbacks=[ByHand(True), item])
    with pytest.raises(
        ValueError,
        match=r"The 'callbacks' parameter .* hold skorch callbacks.* at position 1 instead",
    ):
        model.fit(X, Y)


def test_names_of_callbacks_are_the_users():
    names = ["early_stopping", "lr_plateau", "linear_schedule", "progress_bar", "checkpoints"]
    callbacks = [(name, Probabilities()) for name in names]
    options = {"schedule": Schedule("linear", plateau=(2, 0.5), average=True), "max_epochs": 1}
    model = HashEmbeddingClassifier(**SMALL, **STOPPING, **options, callbacks=callbacks).fit(X, Y)
    assert all(name in dict(model.net_.callbacks_) for name in names)
