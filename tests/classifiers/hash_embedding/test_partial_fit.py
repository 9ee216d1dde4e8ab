"""partial_fit: each call trains on all its rows, in constant memory, with labels given in the first
call.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.classifiers.hash_embedding.raw_scores import raw_scores
from tests.oracles.idf import inverse_document_frequency
from tests.trainings import assert_as_good, assert_near, assert_same_bits

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((400, 90)) < 0.15) * RNG.integers(1, 4, (400, 90)), dtype=np.float32)
Y = np.array(["a", "b", "c"])[
    np.argmax(X.toarray().reshape(400, 3, 30).sum(axis=2) + RNG.normal(0, 1, (400, 3)), axis=1)
]
SMALL = {"n_buckets": 300, "n_embeddings": 1000, "random_state": 0}
PARTS = [slice(start, start + 50) for start in range(0, 400, 50)]


def stream(parts=PARTS, **options):
    model = HashEmbeddingClassifier(**SMALL | options)
    for part in parts:
        model.partial_fit(X[part], Y[part], classes=["a", "b", "c"])
    return model


def weights_of(model):
    return [value.detach().numpy().copy() for value in model.net_.module_.state_dict().values()]


def accumulated(model):
    return model.net_.optimizer_.state[model.net_.module_.head[0].bias]["sum"].clone().numpy()


def test_each_call_is_one_pass_over_all_its_rows_at_a_constant_rate():
    seen, rates = [], set()

    class Watch(Callback):
        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            assert training
            seen.append(len(batch[0]))
            rates.add(tuple(group["lr"] for group in net.optimizer_.param_groups))

    stream(
        PARTS[:2],
        callbacks=[Watch()],
        max_epochs=9,
        schedule=Schedule("linear", average=True),
        early_stopping=EarlyStopping(validation_fraction=0.5),
        learning_rate=0.3,
        batch_size=20,
    )
    assert seen == [20, 20, 10] * 2
    assert rates == {(0.3, 0.15, 0.3)}  # two hashes share the step of the pool


def test_partial_fit_adds_one_history_entry_and_keeps_no_rows():
    model = stream()
    assert [entry["epoch"] for entry in model.history_] == list(range(1, 9))
    assert all(set(entry) == {"epoch", "train_loss", "dur"} for entry in model.history_)
    size = len(pickle.dumps(model.net_.history))
    model.partial_fit(X, Y)  # eight times the rows
    assert len(model.history_) == 9
    assert len(pickle.dumps(model.net_.history)) < size * 9 / 8 + 100
    held = [value for value in vars(model.net_).values() if hasattr(value, "indptr")]
    assert held == []


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_a_model_that_diverged_does_not_answer(loss):
    model = HashEmbeddingClassifier(**SMALL, normalize=None, loss=loss, max_epochs=2).fit(X, Y)
    with pytest.raises(ValueError, match="The training diverged"):
        model.set_params(learning_rate=1e30).partial_fit(X * 1e9, Y[::-1])
    for answer in (model.predict, model.predict_proba, model.decision_function, model.predict_topk):
        with pytest.raises(
            ValueError,
            match=r"HashEmbeddingClassifier cannot predict labels: a score is infinite or not",
        ):
            answer(X)
    assert model.set_params(learning_rate=0.2).fit(X, Y).score(X, Y) > 0.5


@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]])
def test_partial_fit_after_fit_keeps_the_optimizer_state(classes):
    model = HashEmbeddingClassifier(**SMALL, max_epochs=2).fit(X[:200], Y[:200])
    before, total = weights_of(model), accumulated(model)
    model.partial_fit(X[200:], Y[200:], classes=classes)
    assert len(model.history_) == 3
    assert_as_good(accumulated(model), total, margin=0)
    # The steps are as small from the step sizes that every saved model has.
    again = through_state(HashEmbeddingClassifier(**SMALL, max_epochs=2).fit(X[:200], Y[:200]))
    again.partial_fit(X[200:], Y[200:])
    steps = [np.abs(weights_of(one)[-1] - before[-1]).sum() for one in (model, again)]
    assert_near(steps[1], steps[0], rtol=0.2)


def test_only_a_new_column_starts_at_its_document_frequency():
    started = []

    class Watch(Callback):
        def on_train_begin(self, net, **kwargs):
            started.append(net.module_.bag.importance.detach().clone())

    first, second = csr_array(np.eye(40)[:, :30][:30]), csr_array(np.eye(40)[20:40])
    first = csr_array((first.data, first.indices, first.indptr), shape=(30, 40))
    model = HashEmbeddingClassifier(**SMALL, callbacks=[Watch()])
    model.partial_fit(first, np.arange(30) % 2, classes=[0, 1])
    after = model.net_.module_.bag.importance.detach().clone()
    model.partial_fit(second, np.arange(20) % 2)
    bag = model.net_.module_.bag
    _, weights = inverse_document_frequency(bag, np.arange(30), 30)
    old, new = (set(bag.locate(torch.arange(*ends))[0].tolist()) for ends in ((0, 30), (30, 40)))
    new = sorted(new - old)
    assert len(new) > 5
    assert torch.equal(started[1][sorted(old)], after[sorted(old)])
    # 50 documents by then, of which one has the column; divided by what the first weights were
    # divided by
    expected = (np.log(51 / 2) + 1) / weights.mean()
    assert started[1][new].numpy() == pytest.approx(np.full((len(new), 2), expected))


def through_state(model):
    again = clone(model)
    again._set_model_state(*model._get_model_state())
    return again


def test_the_first_call_needs_all_labels():
    model = HashEmbeddingClassifier(**SMALL)
    with pytest.raises(
        ValueError,
        match=r"^classes must be passed on the first call to partial_fit: all labels that",
    ):
        model.partial_fit(X, Y)
    assert not hasattr(model, "net_")
    with pytest.raises(
        ValueError, match=r"The label 'c' in y was not seen before: .* can occur .* as classes\.$"
    ):
        model.partial_fit(X, Y, classes=["a", "b"])
    model.partial_fit(X[Y != "c"], Y[Y != "c"], classes=["c", "b", "a"])
    model.partial_fit(X[Y == "c"], Y[Y == "c"])
    assert model.predict_proba(X).shape == (400, 3)
    with pytest.raises(
        ValueError,
        match=r"classes lacks \['b', 'c'\]\. Call .* classes=\[\*model\.classes_, 'd'\]\)",
    ):
        model.partial_fit(X, Y, classes=["a", "d"])
    with pytest.raises(ValueError, match="The label 'd' in y was not seen before"):
        model.partial_fit(X[:2], ["a", "d"])


def test_one_row_does_not_throw_the_calibration_of_hinge_away():
    model = HashEmbeddingClassifier(**SMALL, loss="hinge").fit(X, Y)
    before = model._loss.inverse_temperature
    wrong = np.flatnonzero(model.predict(X) != Y)[0]
    for row in (0, wrong):
        model.partial_fit(X[[row]], Y[[row]])
    # two of 400 rows, at most 7 / 400 each
    assert_near(model._loss.inverse_temperature, before, rtol=0.04)


def test_a_stream_is_calibrated_on_rows_before_it_is_trained_on_them():
    model = stream(loss="hinge")
    fresh = csr_array((np.random.default_rng(1).random((400, 90)) < 0.15).astype(np.float32))
    confidence = model.predict_proba(fresh).max(axis=1).mean()
    assert confidence < model.predict_proba(X).max(axis=1).mean() + 0.05
    assert model._calibration.n_rows == 400


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "hinge"}, {"loss": "ova"}, {"calibrate": "temperature"}, {"calibrate": False}],
    ids=str,
)
def test_rows_without_known_columns_have_the_class_shares_of_all_calls(options):
    # the last ten columns are never trained
    rows = csr_array((X.data, X.indices, X.indptr), shape=(400, 100))
    # the last row is empty
    unknown = csr_array(np.pad(np.eye(10, dtype=np.float32), ((0, 1), (90, 0))))
    model = HashEmbeddingClassifier(**SMALL | {"n_buckets": 2**20, "n_embeddings": 2**20} | options)
    for part in PARTS[:3]:
        model.partial_fit(rows[part], Y[part], classes=["a", "b", "c"])
        shares = [np.mean(Y[: part.stop] == label) for label in "abc"]
        # they are smoothed
        assert_near(model.predict_proba(unknown), np.tile(shares, (11, 1)), atol=0.01)
        assert np.abs(model.predict_proba(rows[part]) - shares).max() > 0.05


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
@pytest.mark.parametrize(("n_rows", "n_calls"), [(400, 1), (20, 32)])
def test_a_wrong_length_that_says_half_is_forgotten(loss, n_rows, n_calls):
    """By many rows in a call, and by few, which are cropped in some calls."""
    model = HashEmbeddingClassifier(**SMALL, loss=loss, max_epochs=3).fit(X, Y)
    model._model.calibration.half = 100.0
    for call in range(n_calls):
        part = np.arange(call * n_rows, (call + 1) * n_rows) % 400
        model.partial_fit(X[part], Y[part])
    assert 0 < model._calibration.half < 90


@pytest.mark.parametrize("calibrate", ["temperature", False])
@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_without_a_half_length_labels_follow_raw_scores(solver, calibrate):
    epochs = {"max_epochs": 5} if solver == "sgd" else {}
    model = HashEmbeddingClassifier(
        **SMALL | epochs, loss="hinge", calibrate=calibrate, solver=solver
    ).fit(X, Y)
    for _ in range(2):
        assert model._calibration.half == 0
        assert (
            model.predict(X).tolist()
            == model.classes_[raw_scores(model, X).argmax(axis=1)].tolist()
        )
        model._model.calibration.temperature = 100.0
        model.partial_fit(X, Y)
        assert model.temperature_ < 90


def test_another_optimizer_does_not_continue():
    model = HashEmbeddingClassifier(**SMALL, max_epochs=2).fit(X, Y)
    with pytest.raises(ValueError, match="with optimizer='adam': it was trained with 'adagrad'"):
        model.set_params(optimizer="adam", learning_rate=0.001).partial_fit(X, Y)
    model.set_params(optimizer="adagrad", learning_rate=0.2).partial_fit(X, Y)


def test_training_does_not_move_a_net_to_another_device(monkeypatch):
    model = stream(PARTS[:1])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(ValueError, match="with device='cuda': it was trained with 'cpu'"):
        model.set_params(device="cuda").partial_fit(X, Y)
    model.set_params(device="auto")
    with monkeypatch.context() as only_cpu:
        only_cpu.setattr(torch.cuda, "is_available", lambda: False)
        model.partial_fit(X, Y)
    assert len(model.history_) == 2


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_h_is_fitted_by_the_first_call_and_updated_by_many_rows_or_calls(loss):
    model = stream([slice(0, 200)], loss=loss)
    assert 0 < model._calibration.half < 90
    halves = [100.0]
    n_rows = 200
    empty = csr_array((1, 90), dtype=np.float32)
    model._model.calibration.half = halves[0]
    for part in (slice(200, 400), *(slice(20 * number, 20 * number + 20) for number in range(16))):
        model.partial_fit(X[part], Y[part])
        halves.append(model._calibration.half)
        n_rows += len(Y[part])
        assert model._calibration.n_rows == n_rows
    assert min(halves) > 0
    assert len(set(halves)) == 3  # crops take time: few rows are cropped in some calls
    shares = [np.mean(np.concatenate([Y, Y[:320]]) == label) for label in "abc"]
    np.testing.assert_allclose(model.predict_proba(empty)[0], shares, atol=0.01)
    model.set_params(calibrate=False).partial_fit(X[:200], Y[:200])
    assert_same_bits(model._calibration.half, halves[-1])


def test_the_first_call_gives_unknown_columns_the_shares():
    wide = csr_array((X.data, X.indices, X.indptr), shape=(400, 120))
    model = HashEmbeddingClassifier(random_state=0).partial_fit(
        wide[:50], Y[:50], classes=["a", "b", "c"]
    )
    unknown = csr_array(
        ([1.0, 2.0, 1.0], ([0, 0, 1], [95, 117, 100])), shape=(2, 120), dtype=np.float32
    )
    assert model._model.lengths(model._rows(unknown)).tolist() == [0, 0]
    shares = [np.mean(Y[:50] == label) for label in "abc"]
    np.testing.assert_allclose(model.predict_proba(unknown), [shares, shares], atol=0.02)
