"""Every option of HashEmbeddingClassifier reaches what it is for, and changes the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.model_selection import train_test_split
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier, _net_classifier
from sklearn_hashnlp.training import EarlyStopping, Schedule, TimeLimit
from tests.oracles.idf import inverse_document_frequency
from tests.trainings import assert_other_bits

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((300, 80)) < 0.15) * RNG.integers(1, 4, (300, 80)), dtype=np.float32)
Y = np.argmax(
    X.toarray()[:, :60].reshape(300, 3, 20).sum(axis=2) + RNG.normal(0, 1, (300, 3)), axis=1
)
SMALL = {"n_buckets": 300, "n_embeddings": 1000, "max_epochs": 4, "random_state": 0}


class Recorder(Callback):
    """Notes what goes into the net."""

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        self.passes, self.rows = [], X
        self.importance = (
            None
            if net.module_.bag.importance is None
            else net.module_.bag.importance.detach().clone()
        )

    def on_epoch_begin(self, net, dataset_valid=None, **kwargs):
        self.passes.append({True: [], False: []})
        self.valid = dataset_valid

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        rows, targets = batch
        self.passes[-1][training].append(
            (len(rows), rows.offsets.diff().tolist(), targets.tolist(), rows.ids.tolist())
        )

    def sizes(self, epoch):
        return [size for size, *_ in self.passes[epoch][True]]

    def lengths(self, epoch=0):
        return [length for _, lengths, *_ in self.passes[epoch][True] for length in lengths]

    def targets(self, epoch):
        return [target for _, _, targets, _ in self.passes[epoch][True] for target in targets]


def train(rows=X, labels=Y, **options):
    recorder = Recorder()
    callbacks = [recorder, *options.pop("callbacks", [])]
    return HashEmbeddingClassifier(**SMALL | options, callbacks=callbacks).fit(
        rows, labels
    ), recorder


PROBABILITIES = {}


def probabilities(**options):
    """Train, or return what the same parameters gave before: most pairs of values have the defaults
    in common.
    """
    model = HashEmbeddingClassifier(**SMALL | options)
    parameters = str(model.get_params(deep=False))
    if parameters not in PROBABILITIES:
        PROBABILITIES[parameters] = model.fit(X, Y).predict_proba(X)
    return PROBABILITIES[parameters]


def given(option, value):
    """Return a parameter, or a field of the tables, as parameters."""
    return (
        {"embedding": EmbeddingTables(**{option: value})}
        if hasattr(EmbeddingTables(), option)
        else {option: value}
    )


@pytest.mark.parametrize(
    ("option", "one", "other"),
    [
        ("variant", "improved", "paper"),
        ("n_hashes", 2, 3),
        ("append_weight", True, False),
        ("normalize", "l2", None),
        ("aggregation", "sum", "median"),
        ("hash_rows", True, False),
        ("importance_init", "idf", "ones"),
        ("importance_init", "ones", "zeros"),
        ("normalize", "l2", "l1"),
        ("hidden_layer_sizes", (), (4,)),
        ("ngram_dropout", None, (2, 3)),
        ("train_importance", True, False),
        ("train_pool", True, False),
        ("loss", "softmax", "ova"),
        ("loss", "ova", "hinge"),
        ("class_weight", None, {0: 2}),
        ("optimizer", "adagrad", "adam"),
        ("schedule", None, Schedule("linear")),
        ("schedule", None, "auto"),
        ("callbacks", [], [TimeLimit(1e-9)]),
        ("embedding_dim", 20, "auto"),
        ("learning_rate", 0.1, 0.11),
        (
            "early_stopping",
            EarlyStopping(validation_fraction=0.1),
            EarlyStopping(validation_fraction=0.2),
        ),
        ("random_state", 0, 1),
    ],
    ids=str,
)
def test_every_option_changes_the_model(option, one, other):
    # of two the median is half the sum
    options = {"n_hashes": 3} if option == "aggregation" else {}
    options |= {"n_embeddings": 80} if option == "hash_rows" else {}  # so few that columns collide
    assert_other_bits(*(probabilities(**options | given(option, value)) for value in (one, other)))


@pytest.mark.parametrize(
    ("options", "tables", "head"),
    [
        ({}, 1000 * 2 + 300 * 20, (20 + 1) * 3),
        ({"embedding": EmbeddingTables(append_weight=True)}, 1000 * 2 + 300 * 20, (20 + 2 + 1) * 3),
        ({"aggregation": "concat", "n_hashes": 3}, 1000 * 3 + 300 * 20, (3 * 20 + 1) * 3),
        ({"variant": "standard", "embedding_dim": 5}, 1000 * 5, (5 + 1) * 3),
        # a batch-normalised layer has a scale and a shift for each unit
        (
            {"hidden_layer_sizes": (7, 6)},
            1000 * 2 + 300 * 20,
            (20 + 1) * 7 + 14 + (7 + 1) * 6 + 12 + (6 + 1) * 3,
        ),
    ],
    ids=str,
)
def test_the_number_of_parameters_by_hand(options, tables, head):
    model = train(**options)[0]
    assert model.n_parameters_ == tables + head
    assert model.net_.module_.bag.sparse is True


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(32, [32] * 9 + [12]), (100, [100] * 3), (1000, [300])]
)
@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_and_their_order(batch_size, sizes, shuffle):
    model, recorder = train(batch_size=batch_size, max_epochs=3, schedule=Schedule(shuffle=shuffle))
    assert [recorder.sizes(epoch) for epoch in range(3)] == [sizes] * 3
    assert len(model.history_) == 3
    orders = [recorder.targets(epoch) for epoch in range(3)]
    assert all(sorted(order) == sorted(Y.tolist()) for order in orders)
    assert [order == Y.tolist() for order in orders] == [not shuffle] * 3
    assert (orders[0] != orders[1]) == shuffle


def test_dropout_in_training_only():
    lengths = np.diff(X.indptr)
    plain = {"max_epochs": 20, "schedule": Schedule(shuffle=False)}
    _, recorder = train(**plain)
    assert recorder.lengths() == lengths.tolist()
    _, recorder = train(**plain, ngram_dropout=(3, 5))
    kept = np.array([recorder.lengths(epoch) for epoch in range(20)])
    assert (kept <= lengths).all()
    assert (kept >= np.minimum(lengths, 3)).all()
    assert set(kept[:, lengths > 5].ravel().tolist()) == {3, 4, 5}
    _, recorder = train(
        ngram_dropout=(1, 1), early_stopping=EarlyStopping(validation_fraction=0.3), max_epochs=1
    )
    [(_, measured, _, _)] = recorder.passes[0][False]
    assert measured == np.diff(recorder.valid.indptr).tolist()


def test_importance_starts_from_the_training_rows_alone():
    model, recorder = train(early_stopping=EarlyStopping(validation_fraction=0.4))
    assert (len(recorder.rows), len(recorder.valid)) == (180, 120)
    bag = model.net_.module_.bag
    rows, weights = inverse_document_frequency(bag, recorder.rows.indices, 180)
    started = recorder.importance[torch.from_numpy(rows)].numpy()
    assert started == pytest.approx(np.stack([weights, weights], axis=1) / weights.mean())
    everything, others = inverse_document_frequency(bag, X.indices, 300)
    # or this tests nothing
    assert len(rows) != len(everything) or not np.array_equal(weights, others)


def test_validation_splits_as_scikit_learn_does(monkeypatch):
    seen = []

    def split(rows, fraction, *, seed):
        seen.append((fraction, seed))
        return real(rows, fraction, seed=seed)

    real = _net_classifier.validation_split
    monkeypatch.setattr(_net_classifier, "validation_split", split)
    _, recorder = train(early_stopping=EarlyStopping(validation_fraction=0.3))
    train()
    assert [fraction for fraction, _ in seen] == [0.3]
    _, valid = train_test_split(np.arange(300), test_size=90, stratify=Y, random_state=seen[0][1])
    assert recorder.valid.targets.tolist() == Y[np.sort(valid)].tolist()


class Scripted(Callback):
    """Gives validation accuracies, and notes the head's bias after each epoch."""

    def __init__(self, accuracies):
        self.accuracies = accuracies

    def on_train_begin(self, net, **kwargs):
        self.biases = []

    def on_epoch_end(self, net, **kwargs):
        net.history.record("valid_acc", self.accuracies[len(self.biases)])
        self.biases.append(net.module_.head[0].bias.detach().clone())


@pytest.mark.parametrize(
    ("accuracies", "patience", "epochs", "best"),
    [
        ([0.5, 0.6, 0.6, 0.6, 0.9], 2, 4, 2),  # as good is not better: the first is kept
        ([0.5, 0.6, 0.6, 0.7, 0.7, 0.7, 0.9], 2, 6, 4),
        ([0.5, 0.4, 0.9], 1, 2, 1),
        ([0.1, 0.2, 0.3, 0.4], 1, 4, 4),
    ],
)
def test_patience_and_ties(accuracies, patience, epochs, best):
    script = Scripted(accuracies)
    stopping = EarlyStopping(patience=patience, validation_fraction=0.2)
    model, _ = train(early_stopping=stopping, max_epochs=len(accuracies), callbacks=[script])
    assert len(model.history_) == epochs
    assert torch.equal(model.net_.module_.head[0].bias, script.biases[best - 1])
