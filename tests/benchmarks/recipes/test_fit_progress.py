"""Progress of a training with early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from skorch.history import History

from benchmarks.recipes.hash_embedding_pipeline import FitProgress
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping


class Net:
    """As much of a net as a callback sees."""

    def __init__(self) -> None:
        self.history = History()


def told(scores: list[float], *, name: str = "valid_acc", **parameters: Any) -> list[float]:
    """Return the shares after the beginning and each epoch."""
    shares: list[float] = []
    progress, net = FitProgress(shares.append, **parameters), Net()
    progress.on_train_begin(net)
    for score in scores:
        net.history.new_epoch()
        net.history.record(name, score)
        progress.on_epoch_end(net)
    return shares


def test_it_ends_patience_epochs_after_the_best() -> None:
    assert told([0.5, 0.6, 0.6, 0.7, 0.1, 0.2], max_epochs=100, patience=2) == [0, 1 / 3, 2 / 4, 3 / 4, 4 / 6, 5 / 6, 1]


def test_the_last_epoch_is_the_end_too() -> None:
    assert told([0.5, 0.6, 0.7], max_epochs=3, patience=10) == [0, 1 / 3, 2 / 3, 1]
    assert told([0.5, 0.4], max_epochs=4, patience=0) == [0, 0.25, 0.5]
    assert told([0.5, 0.4], max_epochs=4, patience=1, name="train_loss") == [0, 0.25, 0.5]
    assert told([0.5, 0.4, 0.3], max_epochs=9, patience=1) == [0, 0.5, 1, 1]


def test_a_smaller_loss_is_better() -> None:
    losses = {"max_epochs": 100, "patience": 1, "monitor": "valid_loss", "name": "valid_loss"}
    assert told([0.9, 0.5, 0.6], **losses) == [0, 1 / 2, 2 / 3, 1]


def test_a_real_training_ends_at_one() -> None:
    shares: list[float] = []
    rows = np.random.RandomState(0).random_sample((100, 8))
    classifier = HashEmbeddingClassifier(
        n_buckets=20,
        n_embeddings=20,
        max_epochs=50,
        random_state=0,
        early_stopping=EarlyStopping("valid_loss", patience=3, validation_fraction=0.3),
        callbacks=[FitProgress(shares.append, 50, 3, "valid_loss")],
    )
    clone(classifier).fit(rows, np.arange(100) % 2)
    assert len(shares) < 51  # it was stopped
    assert shares[0] == 0
    assert shares[-1] == 1
    assert max(shares[:-1]) < 1
