"""Early stopping returns to the best epoch, bit for bit, and copies touched rows only."""

import copy

import numpy as np
import torch
from scipy.sparse import csr_array
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping
from sklearn_hashnlp.training._fit import UndoLog

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
        **SMALL, early_stopping=EarlyStopping(validation_fraction=0.3), max_epochs=9, callbacks=[snapshots, Interrupt()]
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
    fast = {"learning_rate": 0.4, "random_state": 1}
    alone = HashEmbeddingClassifier(**options | fast).fit(X, Y)
    best = int(np.argmax([epoch["valid_acc"] for epoch in alone.history_]))
    assert best < 4, "the last epoch is the best: weights are written after the other training, and nothing is tested"
    other = HashEmbeddingClassifier(**options)
    model = HashEmbeddingClassifier(**options | fast, callbacks=[OtherTraining(other, best + 2)]).fit(X, Y)
    for name, value in model.net_.module_.state_dict().items():
        assert torch.equal(value, alone.net_.module_.state_dict()[name]), name
    assert not torch.equal(model.net_.module_.bag.pool, other.net_.module_.bag.pool)


def test_a_journal_undoes_what_was_written_since():
    table = torch.arange(10.0).reshape(5, 2)
    journal = UndoLog(table)
    journal.note(torch.tensor([1, 3]))
    table[[1, 3]] = -1
    journal.clear()  # this is now the state to return to
    for rows in ([3, 4], [0, 3]):
        journal.note(torch.tensor(rows))
        table[rows] -= 100
    journal.undo()
    assert table.tolist() == [[0, 1], [-1, -1], [4, 5], [-1, -1], [8, 9]]
    table[2] = 50
    journal.undo()  # nothing noted: nothing undone
    assert table[2].tolist() == [50, 50]


def test_a_journal_keeps_the_rows_it_was_told_of_and_no_more():
    journal = UndoLog(torch.zeros(1000, 4))
    for _ in range(3):
        journal.note(torch.tensor([5, 7]))
    assert sum(values.numel() for _, values in journal._entries) == 8
