"""The end of a training: at the best epoch, bit for bit, with copies of touched rows only; or at
the smallest loss.
"""

import copy
from itertools import count, repeat
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from skorch.callbacks import Callback

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, TextClassifier
from sklearn_hashnlp.training import EarlyStopping
from sklearn_hashnlp.training._early_stopping import Convergence
from sklearn_hashnlp.training._fit_task import StopTraining
from sklearn_hashnlp.training._optimizers import UndoLog
from tests.trainings import assert_other_bits, assert_same_bits

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((600, 300)) < 0.03) * RNG.random((600, 300)))
Y = (X[:, :150].sum(axis=1) + RNG.normal(0, 0.4, 600) > X[:, 150:].sum(axis=1)).astype(int)
SMALL = {"n_buckets": 1000, "n_embeddings": 5000, "random_state": 0}


class Snapshots(Callback):
    """Copies the whole module after every epoch: what the journal must not do."""

    def on_train_begin(self, net, **kwargs):
        self.states = []

    def on_epoch_end(self, net, **kwargs):
        self.states.append(copy.deepcopy(net.module_.state_dict()))


def test_an_interrupt_ends_with_the_best_epoch_so_far():
    class Interrupt(Callback):
        def on_batch_end(self, net, training=False, **kwargs):
            if len(net.history) == 3 and training:
                raise KeyboardInterrupt

    snapshots = Snapshots()
    model = HashEmbeddingClassifier(
        **SMALL,
        early_stopping=EarlyStopping(validation_fraction=0.3),
        max_epochs=9,
        callbacks=[snapshots, Interrupt()],
    )
    model.fit(X, Y)
    best = int(np.argmax([epoch["valid_acc"] for epoch in model.history_[:2]]))
    assert torch.equal(model.net_.module_.bag.pool, snapshots.states[best]["bag.pool"])
    assert model.predict(X).shape == (600,)


class OtherTraining(Callback):
    """Trains another model, from its beginning to its end, at the beginning of an epoch."""

    def __init__(self, other, epoch):
        self.other, self.epoch = other, epoch

    def on_epoch_begin(self, net, **kwargs):
        if net.history[-1, "epoch"] == self.epoch:
            self.other.fit(X, Y)


def test_trainings_at_the_same_time_share_no_weights():
    options = SMALL | {"early_stopping": EarlyStopping(validation_fraction=0.3), "max_epochs": 5}
    fast = {"learning_rate": 0.8, "random_state": 1}
    alone = HashEmbeddingClassifier(**options | fast).fit(X, Y)
    best = int(np.argmax([epoch["valid_acc"] for epoch in alone.history_]))
    assert best < 4, (
        "the last epoch is the best: weights are written after the other training, and nothing is "
        "tested"
    )
    other = HashEmbeddingClassifier(**options)
    model = HashEmbeddingClassifier(
        **options | fast, callbacks=[OtherTraining(other, best + 2)]
    ).fit(X, Y)
    for name, value in model.net_.module_.state_dict().items():
        assert_same_bits(value, alone.net_.module_.state_dict()[name])
    assert_other_bits(model.net_.module_.bag.pool, other.net_.module_.bag.pool)


def test_a_journal_keeps_the_rows_it_was_told_of_and_no_more():
    journal = UndoLog(torch.zeros(1000, 4))
    for _ in range(3):
        journal.note(torch.tensor([5, 7]))
    assert sum(values.numel() for _, values in journal._entries) == 8


TINY = {
    "n_buckets": 500,
    "n_embeddings": 500,
    "embedding_dim": 4,
    "random_state": 0,
    "max_epochs": 1,
}
ROWS = np.eye(4, dtype=np.float32)[np.arange(100) % 4]


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (TextClassifier(**TINY), [f"word{row % 2} filler{row % 7}" for row in range(100)]),
        (HashEmbeddingClassifier(**TINY), ROWS),
        (SGNNClassifier(hidden_layer_sizes=(4,), random_state=0, max_epochs=1), ROWS),
    ],
    ids=lambda part: type(part).__name__,
)
def test_early_stopping_without_a_validation_set_is_said(model, rows):
    labels = np.resize(["even", "odd"], 100)
    with pytest.warns(
        UserWarning, match="early_stopping has no effect, because 100 rows are too few"
    ) as caught:
        model.set_params(early_stopping="valid_acc").fit(rows, labels)
    assert "EarlyStopping(validation_fraction=...)" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert "valid_acc" not in model.history_[0]
    # without a warning, which would be an error here
    model.set_params(early_stopping=False).fit(rows, labels)


def end_of(losses, *, n_batches=20, averages=True):
    """Return the number of epochs with these losses, and of steps before the first that is
    averaged.
    """
    stopping, group = Convergence(averages=averages), {"steps": 0, "average_after": None}
    net = SimpleNamespace(history=[], optimizer_=SimpleNamespace(param_groups=[group]))
    stopping.on_train_begin(net)
    for loss in losses:
        group["steps"] += n_batches
        batches = [{"train_loss": 2 * loss}] * n_batches
        net.history.append({"train_loss": loss, "train_batch_count": n_batches, "batches": batches})
        try:
            stopping.on_epoch_end(net)
        except StopTraining:
            return len(net.history), group["average_after"]
    raise AssertionError("training does not end")


@pytest.mark.parametrize(("n_batches", "window"), [(1, 100), (20, 5), (99, 2), (100, 1), (700, 1)])
def test_training_ends_when_the_loss_no_longer_falls(n_batches, window):
    assert end_of(repeat(1.0), n_batches=n_batches, averages=False) == (2 * window, None)
    n_epochs, average_after = end_of(repeat(1.0), n_batches=n_batches)
    assert average_after == 2 * window * n_batches
    assert 0.25 <= (n_epochs - 2 * window) / n_epochs < 0.25 + 1 / n_epochs
    slow, fast = (0.951 ** (1 / window), 0.949 ** (1 / window))
    plateau = [
        *(fast**epoch for epoch in range(9 * window)),
        *repeat(fast ** (9 * window - 1), window + 1),
    ]
    assert 9 * window < end_of(plateau, n_batches=n_batches, averages=False)[0] <= 10 * window
    assert (
        end_of((slow**epoch for epoch in count()), n_batches=n_batches, averages=False)[0]
        == 2 * window
    )


def test_training_ends_when_the_loss_has_vanished():
    # 1 % of the loss of the first batch
    assert end_of([1.0, 0.5, 0.021, 0.019, 0.018], averages=False)[0] == 4
    assert end_of([1.0, 0.5, 0.021, 0.019, 0.018, 0.017, 0.016]) == (6, 80)
    assert end_of(repeat(0.0)) == (2, 20)  # of a model that predicts all rows with certainty


@pytest.mark.usefixtures("all_epochs")
def test_the_last_quarter_of_a_training_until_convergence_is_averaged():
    class Groups(Callback):
        def on_train_end(self, net, **kwargs):
            self.steps = [
                (group["steps"], group["average_after"]) for group in net.optimizer_.param_groups
            ]

    snapshots, groups = Snapshots(), Groups()
    model = HashEmbeddingClassifier(**SMALL, solver="sgd", callbacks=[snapshots, groups]).fit(X, Y)
    n_epochs, [(n_steps, first)] = len(model.history_), set(groups.steps)
    assert n_epochs < 50
    assert 0.25 <= (n_steps - first) / n_steps <= 0.25 + 1 / n_epochs
    assert not torch.equal(model.net_.module_.bag.pool, snapshots.states[-1]["bag.pool"])


def test_a_training_that_resumes_without_loss_ends():
    rows, labels = np.eye(4)[np.arange(40) % 4], np.arange(40) % 2
    model = HashEmbeddingClassifier(
        **SMALL, loss="hinge", solver="sgd", warm_start=True, max_epochs=200
    )
    n_epochs = len(model.fit(rows, labels).history_)
    model.set_params(max_epochs="auto").fit(rows, labels)
    assert 2 <= len(model.history_) - n_epochs <= 150
    assert model.score(rows, labels) == 1
