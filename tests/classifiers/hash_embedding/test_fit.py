"""HashEmbeddingClassifier: what it learns, what it refuses, and that it repeats itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding import _sparse_net
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.trainings import assert_near

SMALL = {"n_buckets": 2000, "n_embeddings": 20_000, "random_state": 0}
RNG = np.random.default_rng(0)
# Three classes, each with columns of its own among 10**6, and noise.
TARGETS = RNG.integers(0, 3, 240)
NOISE = random_array((240, 10**6), density=5e-6, format="csr", rng=RNG)
SIGNAL = csr_array(
    (
        np.ones(480),
        (np.repeat(np.arange(240), 2), np.repeat(TARGETS * 1000, 2) + RNG.integers(0, 9, 480)),
    ),
    shape=(240, 10**6),
)
X = csr_array(NOISE + SIGNAL)
TRAIN, TEST = slice(0, 160), slice(160, 240)
LABELS = np.array(["politics", "sport", "weather"])[TARGETS]


@pytest.fixture(scope="module")
def fitted():
    return HashEmbeddingClassifier(**SMALL).fit(X[TRAIN], LABELS[TRAIN])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"variant": "paper"},
        {"variant": "standard", "max_epochs": 10},
        {"aggregation": "concat"},
        {"aggregation": "median", "n_hashes": 3},
        {"embedding": EmbeddingTables(importance_init="ones")},
        {"normalize": None},
        {"hidden_layer_sizes": (20, 10), "max_epochs": 20},
        {"ngram_dropout": (2, 4), "max_epochs": 5},
        {"early_stopping": EarlyStopping(validation_fraction=0.2), "max_epochs": 5},
        {"batch_size": 1},
        {"batch_size": 1000, "max_epochs": 10},
    ],
    ids=str,
)
def test_it_learns_with_every_option(options):
    model = HashEmbeddingClassifier(**SMALL | options).fit(X[TRAIN], LABELS[TRAIN])
    assert model.score(X[TEST], LABELS[TEST]) > 0.9
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]


@pytest.mark.parametrize("aggregation", ["sum", "concat", "median"])
def test_scores_do_not_depend_on_how_rows_are_cut_into_batches(aggregation, monkeypatch):
    model = HashEmbeddingClassifier(**SMALL, aggregation=aggregation, hidden_layer_sizes=(9,)).fit(
        X, LABELS
    )
    many = csr_array(X[np.arange(2500) % 240])
    expected = model.predict_proba(many).tobytes()
    for values, rows in ((1, X), (50, many), (3000, many)):
        monkeypatch.setattr(_sparse_net, "PREDICT_VALUES", values)
        probabilities = model.predict_proba(rows).tobytes()
        assert probabilities == expected[: len(probabilities)]


def test_batches_of_long_rows_are_small():
    class Values(Callback):
        seen: ClassVar[list[tuple[bool, int]]] = []

        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            self.seen.append((training, len(batch[0].ids)))

    long = np.ones((600, 2000), dtype=np.float32)
    model = HashEmbeddingClassifier(
        **SMALL, early_stopping=EarlyStopping(validation_fraction=0.5), max_epochs=1
    )
    model.set_params(callbacks=[Values()]).fit(long, np.arange(600) % 2)
    bag = model.net_.module_.bag
    bag.register_forward_pre_hook(lambda _, inputs: Values.seen.append((False, len(inputs[0]))))
    model.net_.score_rows(model._rows(long))
    measured = [values for training, values in Values.seen if not training]
    assert sum(measured) == 900 * 2000
    assert max(measured) == 2**18 // 2000 * 2000


@pytest.mark.parametrize("rows", [2, 160])
def test_a_training_that_diverges_is_an_error(rows):
    batches = []

    class Count(Callback):
        def on_batch_begin(self, net, **kwargs):
            batches.append(net)

    model = HashEmbeddingClassifier(
        **SMALL, learning_rate=1e30, max_epochs=9, normalize=None, callbacks=[Count()]
    )
    y = np.arange(rows) % 2
    with pytest.raises(ValueError, match=r"The training diverged: .* Set a smaller learning_rate"):
        model.fit(X[:rows] * 1e9, y)
    assert not hasattr(model, "net_")
    assert len(batches) < 10  # at once, and not after 45
    model.set_params(max_epochs=1)
    # a single step, whose result no loss shows
    with pytest.raises(ValueError, match="The training diverged"):
        model.fit(X[:2] * 1e9, [0, 1])


def test_an_unseen_column_changes_nothing(fitted):
    seen = set(csr_array(X[TRAIN]).indices.tolist())
    bag = fitted.net_.module_.bag
    ids = torch.tensor([column for column in range(1000, 2000) if column not in seen])
    rows, _ = bag.locate(ids)
    free = ids[(bag.importance[rows] == 0).all(dim=1)]
    assert len(free) > 900  # the others collide with a column that was seen
    row = X[[3]].tolil()
    row[0, int(free[0])] = 5.0
    np.testing.assert_array_equal(
        fitted.predict_proba(csr_array(row)), fitted.predict_proba(X[[3]])
    )


def test_a_dictionary_has_a_row_for_each_column():
    y, eye = np.arange(40) % 2, csr_array(np.eye(40))
    options = {
        "variant": "standard",
        "n_embeddings": 40,
        "max_epochs": 20,
        "learning_rate": 0.5,
        "random_state": 0,
    }
    hashed = HashEmbeddingClassifier(**options).fit(eye, y)
    unhashed = HashEmbeddingClassifier(**options, embedding=EmbeddingTables(hash_rows=False)).fit(
        eye, y
    )
    assert hashed.score(eye, y) < 1
    assert unhashed.score(eye, y) == 1
    # not used
    assert unhashed.set_params(n_embeddings=3).fit(eye, y).document_vectors(eye).any(axis=1).all()


@pytest.mark.parametrize(
    "y", [[0, 1] * 30, [0, 1], ["a", "b", "c"]], ids=["three to hold out", "two", "three"]
)
def test_tiny_data_trains_without_a_split(y):
    model = HashEmbeddingClassifier(**SMALL, early_stopping="valid_acc", max_epochs=3)
    with pytest.warns(
        UserWarning, match=f"early_stopping has no effect, because {len(y)} rows are too few"
    ):
        model.fit(X[: len(y)], y)
    assert [set(entry) for entry in model.history_] == [{"epoch", "train_loss", "dur"}] * 3


def test_importance_that_starts_at_zero_starts_with_a_pool_that_does_not():
    model = HashEmbeddingClassifier(
        n_buckets=500,
        n_embeddings=10**5,
        embedding=EmbeddingTables(importance_init="zeros", train_importance=False),
        random_state=0,
    ).fit(X, LABELS)
    bag = model.net_.module_.bag
    assert not bag.importance.any()
    assert bag.pool.std().item() == pytest.approx(0.1, rel=0.05)
    model.set_params(embedding=EmbeddingTables(train_importance=True)).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.9
    unseen = csr_array(([1.0], ([0], [10**5])), shape=(1, X.shape[1]))
    empty = csr_array((1, X.shape[1]), dtype=np.float32)
    scores = [
        model._score(model._rows(rows), model._model.linear).scores for rows in (unseen, empty)
    ]
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.gpu
@pytest.mark.parametrize(
    "options", [{}, {"variant": "standard"}, {"aggregation": "concat"}, {"aggregation": "median"}]
)
def test_cuda_agrees_with_the_cpu(options):
    models = [
        HashEmbeddingClassifier(**SMALL | options, device=device).fit(X, TARGETS)
        for device in ("cpu", "cuda")
    ]
    assert models[1].net_.module_.bag.pool.is_cuda
    assert_near(models[1].predict_proba(X), models[0].predict_proba(X), atol=1e-3)


def test_a_model_that_asks_for_cuda_loads_where_there_is_none(monkeypatch, fitted):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    copy = HashEmbeddingClassifier(**SMALL, device="cuda")
    copy._set_model_state(*fitted._get_model_state())
    assert copy.predict_proba(X[TEST]).tobytes() == fitted.predict_proba(X[TEST]).tobytes()


def test_columns_beyond_31_bits_are_columns_of_their_own():
    last = 2**31 - 1 + 2**16
    rows = csr_array(
        (np.ones(40, np.float32), np.array([last - 1, 2**31 - 2**16] * 20), range(41)),
        shape=(40, last),
    )
    model = HashEmbeddingClassifier(**SMALL).fit(rows, [0, 1] * 20)
    assert model.score(rows, [0, 1] * 20) == 1


def test_too_many_columns_are_refused_with_advice_that_helps():
    rows = csr_array((2, 2**31 + 2**16), dtype=np.float32)
    with pytest.raises(
        ValueError, match=r"at most 2\*\*31 - 1 \+ 2\*\*16 are supported.*n_features=2\*\*28"
    ):
        HashEmbeddingClassifier().fit(rows, ["a", "b"])


class FirstBatch(Callback):
    """Keeps the bias before the first step, and stops after it."""

    def on_batch_begin(self, net, **kwargs):
        self.bias = net.module_.head[-1].bias.detach().clone()

    def on_batch_end(self, net, **kwargs):
        raise KeyboardInterrupt


@pytest.mark.parametrize("n_hashes", [1, 2, 3])
def test_few_rows_start_at_class_shares_with_damped_newton_steps(n_hashes):
    rows, y = np.eye(32), np.arange(32) % 4 == 0
    first, options = (
        FirstBatch(),
        {"loss": "hinge", "solver": "sgd", "n_hashes": n_hashes, "batch_size": 32},
    )
    model = HashEmbeddingClassifier(**options, random_state=0, callbacks=[first]).fit(rows, y)
    shares = (np.array([24, 8]) + 1 / 3) / 33  # smoothed
    np.testing.assert_allclose(first.bias, 2 * shares - 1, rtol=1e-6)
    gained = model._scores(rows) - model.net_.module_.head[-1].bias.detach().numpy()
    # relative to an exact fit
    gained /= np.where(y[:, np.newaxis] == [False, True], 1, -1) - first.bias.numpy()
    assert ((gained > 0.2) & (gained < 0.5)).all()
    model.set_params(max_epochs=1).fit(rows, y)
    assert first.bias.abs().max() == 0


@pytest.mark.usefixtures("all_epochs")
def test_validation_and_a_planned_decay_decide_the_number_of_epochs():
    stopping = EarlyStopping("valid_loss", patience=None, validation_fraction=0.2)
    y = np.arange(X.shape[0]) % 2
    watched = HashEmbeddingClassifier(**SMALL, early_stopping=stopping, batch_size=10**6).fit(X, y)
    decayed = HashEmbeddingClassifier(**SMALL, schedule=Schedule("linear")).fit(X, y)
    assert (len(watched.history_), len(decayed.history_)) == (500, 20)
