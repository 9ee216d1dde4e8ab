"""Training by a plan against plain loops, and everything that ends or changes a training."""

import copy
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from skorch.callbacks import Callback, EpochScoring
from torch import nn

from sklearn_hashnlp.classifiers._losses import make_loss
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseBatches, SparseDataset
from sklearn_hashnlp.training import EarlyStopping, Schedule, TimeLimit, _loop
from sklearn_hashnlp.training._fit import fit_net
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._torch_scope import plain_torch
from tests.oracles.training import train_by_hand
from tests.training.nets import fresh_net

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((333, 200)) < 0.05) * RNG.random((333, 200)), dtype=np.float32)
SIDES = X[:, :100].sum(axis=1) - X[:, 100:].sum(axis=1) + RNG.normal(0, 0.4, 333)
Y = np.digitize(SIDES, [-0.5, 0.5]).astype(np.int64)
SEVERAL = np.stack([SIDES > -0.5, SIDES > 0.5], axis=1).astype(np.float32)
WEIGHTS = RNG.random(333).astype(np.float32)
ROWS, VALID_ROWS = SparseDataset(X[:250], Y[:250]), SparseDataset(X[250:], Y[250:])
PLAN = TrainingSettings(
    learning_rate=0.1,
    max_epochs=2,
    batch_size=32,
    seed=0,
    early_stopping=EarlyStopping(patience=None),
)


def train(net, rows, valid_rows, settings, *, loss="softmax", optimizer="adagrad", dropout=None):
    """Train as the classifiers do."""
    head = net.module_.head
    smallest = 2 if any(isinstance(layer, nn.BatchNorm1d) for layer in head) else 1
    fit_net(
        net,
        rows,
        valid_rows,
        settings,
        optimizer=net.make_optimizer(optimizer, settings.learning_rate),
        loss=make_loss(loss, head, multilabel=rows.targets.ndim == 2),
        batch_options={"smallest": smallest, "dropout": dropout},
    )
    net.check_scores(rows)


def changed_plan(**changes):
    """Change settings, also those of the schedule and of early stopping."""
    schedule = {name: changes.pop(name) for name in Schedule().get_params() if name in changes}
    stopping = {
        name: changes.pop(name) for name in PLAN.early_stopping.get_params() if name in changes
    }
    stopping = clone(PLAN.early_stopping).set_params(**stopping)
    return replace(PLAN, schedule=Schedule(**schedule), early_stopping=stopping, **changes)


def trained(rows=ROWS, valid_rows=None, *, net=None, architecture=None, **changes):
    net = fresh_net(**(architecture or {})) if net is None else net
    with plain_torch():
        options = {
            name: changes.pop(name) for name in ("loss", "optimizer", "dropout") if name in changes
        }
        train(net, rows, valid_rows, changed_plan(**changes), **options)
    return net


def weights(net):
    return copy.deepcopy(net.module_.state_dict())


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert torch.equal(value, expected[name]), name


class EveryEpoch(Callback):
    """Notes the weights after each epoch."""

    def initialize(self):
        self.steps = []
        self.epochs = []
        self.rates = []
        return self

    def on_epoch_end(self, net, **kwargs):
        self.epochs.append(weights(net))


class EveryStep(EveryEpoch):
    """Notes the weights also after each batch that was learned from."""

    def on_batch_end(self, net, training=False, **kwargs):
        if training:
            self.steps.append(weights(net))
            self.rates.append([group["lr"] for group in net.optimizer_.param_groups])


class Interrupt(Callback):
    """Ends training after so many steps."""

    def __init__(self, steps):
        self.steps = steps

    def initialize(self):
        self.left = self.steps
        return self

    def on_batch_end(self, net, training=False, **kwargs):
        self.left -= training
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("schedule", "optimizer", "hidden", "row_weights"),
    [
        ("constant", "adagrad", [], None),
        ("linear", "adagrad", [8], WEIGHTS[:250]),
        ("constant", "adam", [8], None),
        ("linear", "adam", [], WEIGHTS[:250]),
    ],
    ids=[
        "constant, adagrad",
        "linear, adagrad, hidden, weighted",
        "constant, adam, hidden",
        "linear, adam, weighted",
    ],
)
def test_training_is_a_plain_loop(schedule, optimizer, hidden, row_weights):
    rows = SparseDataset(X[:250], Y[:250], row_weights)
    net = trained(rows, architecture={"hidden_sizes": hidden}, decay=schedule, optimizer=optimizer)
    module = fresh_net(hidden_sizes=hidden).module_
    with plain_torch():
        losses = train_by_hand(
            module, rows, optimizer=optimizer, schedule=schedule, epochs=2, batch_size=32, lr=0.1
        )
    np.testing.assert_allclose(net.history[:, "train_loss"], losses, rtol=1e-4)
    for name, value in net.module_.state_dict().items():
        torch.testing.assert_close(value, module.state_dict()[name], rtol=1e-3, atol=1e-5)


def test_several_labels_a_row():
    rows, valid_rows = SparseDataset(X[:250], SEVERAL[:250]), SparseDataset(X[250:], SEVERAL[250:])
    changes = {
        "loss": "hinge",
        "max_epochs": 4,
        "restore_best": False,
        "architecture": {"num_classes": 2},
    }
    scores = EpochScoring("f1_macro", lower_is_better=False, name="mine")
    net = trained(rows, valid_rows, callbacks=(scores,), **changes)
    assert net.history[-1, "train_loss"] < net.history[0, "train_loss"]
    found = net.score_rows(valid_rows) > 0
    assert net.history[-1, "mine"] == f1_score(SEVERAL[250:], found, average="macro")
    assert net.history[-1, "valid_acc"] == accuracy_score(SEVERAL[250:], found)
    assert net.history[-1, "valid_acc"] > 0.5
    assert len({tuple(row) for row in found.tolist()}) >= 3


def test_hidden_layers_learn_from_a_single_row_by_the_running_statistics():
    one, hidden = ROWS.select(np.array([3])), {"hidden_sizes": [8]}
    net = trained(architecture=hidden)  # statistics of many rows
    expected = copy.deepcopy(net.module_)
    optimizer = copy.deepcopy(net.optimizer_.state_dict())
    trained(one, net=net, max_epochs=1)
    batch, target = one.take(slice(0, 1))
    copied = copy.copy(net)
    copied.module_ = expected
    again = copied.make_optimizer("adagrad", PLAN.learning_rate)
    again.load_state_dict(optimizer | {"param_groups": again.state_dict()["param_groups"]})
    expected.eval()
    torch.nn.functional.cross_entropy(
        expected(batch.ids, batch.offsets, batch.weights), target
    ).backward()
    again.step()
    assert_equal(weights(net), expected.state_dict())
    before = weights(net)["head.1.running_mean"]
    trained(net=net, max_epochs=1)  # many rows move them again
    assert not torch.equal(weights(net)["head.1.running_mean"], before)
    first = trained(one, architecture=hidden, max_epochs=20)
    assert first.score_rows(one).argmax() == one.targets[0]


def test_only_callbacks_that_do_something_for_a_batch_are_called_then():
    class Count(Callback):
        def initialize(self):
            self.calls = []
            return self

        def on_batch_begin(self, net, batch, training, **kwargs):
            self.calls.append(("begin", training, len(batch[1])))

        def on_grad_computed(self, net, named_parameters, batch, training, **kwargs):
            names = [name for name, parameter in named_parameters if parameter.grad is not None]
            self.calls.append(("gradients", training, names))

        def on_batch_end(self, net, batch, training, loss, y_pred, **kwargs):
            record = net.history[-1, "batches", -1]
            assert record["train_loss" if training else "valid_loss"] == loss.item()
            self.calls.append(("end", training, tuple(y_pred.shape)))

    count = Count()
    net = trained(valid_rows=VALID_ROWS, callbacks=(count,), max_epochs=1, batch_size=200)
    names = ["bag.pool", "bag.importance", "head.0.weight", "head.0.bias"]
    expected = [
        (kind, True, value)
        for n in (200, 50)
        for kind, value in (("begin", n), ("gradients", names), ("end", (n, 3)))
    ]
    assert count.calls == [*expected, ("begin", False, 83), ("end", False, (83, 3))]
    assert {
        method.__self__ for name in ("on_batch_begin", "on_batch_end") for method in net.hooks(name)
    } == {count}
    records = net.history[0, "batches"]
    assert [set(record) for record in records] == [
        {"train_batch_size", "train_loss"},
        {"train_batch_size", "train_loss"},
        {"valid_batch_size", "valid_loss", "valid_acc"},
    ]
    assert (net.history[0, "train_batch_count"], net.history[0, "valid_batch_count"]) == (2, 1)


@pytest.mark.parametrize("every", [3, 100])
def test_losses_that_are_asked_for_later_are_the_same(every, monkeypatch):
    def records(net):
        return [batch for epoch in net.history for batch in epoch["batches"]]

    expected = trained(valid_rows=VALID_ROWS)
    monkeypatch.setitem(_loop.MEASURED_EVERY, "cpu", every)
    found = trained(valid_rows=VALID_ROWS)
    assert records(found) == records(expected)
    assert (
        found.history[:, ("train_loss", "valid_loss", "valid_acc")]
        == expected.history[:, ("train_loss", "valid_loss", "valid_acc")]
    )
    with pytest.raises(ValueError, match="training diverged"):
        trained(learning_rate=1e30, max_epochs=1, architecture={"normalize": None})


def test_a_callback_that_predicts_does_not_end_training_mode():
    class Predicts(Callback):
        def on_batch_end(self, net, training=False, **kwargs):
            net.predict_proba(VALID_ROWS)

    plain = weights(trained(architecture={"hidden_sizes": [8]}))
    assert_equal(
        weights(trained(architecture={"hidden_sizes": [8]}, callbacks=(Predicts(),))), plain
    )


def mean_of(states, name):
    return torch.stack([state[name].double() for state in states]).mean(dim=0).float()


def test_the_average_is_that_of_the_last_quarter():
    steps = EveryStep()
    net = trained(average=True, callbacks=(steps,), max_epochs=3, batch_size=37)
    assert len(steps.steps) == 21
    for name, value in net.module_.named_parameters():
        torch.testing.assert_close(
            value.detach(), mean_of(steps.steps[16:], name), rtol=1e-4, atol=1e-6
        )
        assert not torch.equal(value, steps.steps[-1][name])


def test_no_average_where_rows_are_held_out():
    plain = weights(trained(valid_rows=VALID_ROWS))
    assert_equal(weights(trained(valid_rows=VALID_ROWS, average=True)), plain)


@pytest.mark.parametrize(("n_steps", "averaged"), [(5, False), (12, False), (15, True)])
def test_an_interrupt_leaves_the_average_so_far_if_there_is_one(n_steps, averaged):
    steps = EveryStep()
    net = trained(average=True, callbacks=(steps, Interrupt(n_steps)))
    assert len(steps.steps) == n_steps
    for name, value in net.module_.named_parameters():
        expected = mean_of(steps.steps[12:], name) if averaged else steps.steps[-1][name]
        torch.testing.assert_close(value.detach(), expected, rtol=1e-4, atol=1e-6)
    assert len(net.history) == n_steps // 8


@pytest.mark.parametrize("valid_rows", [None, VALID_ROWS], ids=["plain", "held out"])
def test_time_that_is_over_ends_training_after_a_batch(valid_rows):
    steps = EveryStep()
    net = trained(valid_rows=valid_rows, max_epochs=10**6, callbacks=(TimeLimit(1e-9), steps))
    assert not net.interrupted_
    assert net.history[:, "train_batch_count"] == [1]
    assert net.history[0, "train_loss"] == pytest.approx(np.log(3), abs=0.2)
    assert ("valid_acc" in net.history[0]) is (valid_rows is not None)
    assert_equal(weights(net), steps.steps[0])
    assert net.deadline is None


def test_training_goes_on_where_it_stopped():
    once = trained(shuffle=False, callbacks=(TimeLimit(600.0),))  # which suffices
    twice = trained(shuffle=False, max_epochs=1)
    trained(net=twice, shuffle=False, max_epochs=1, learning_rate=0.1)
    assert_equal(weights(twice), weights(once))
    assert twice.history[:, "epoch"] == [1, 2]
    assert twice.history[:, "train_loss"] == once.history[:, "train_loss"]


def test_verbosity(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    printed = []
    for verbose in range(4):
        trained(valid_rows=VALID_ROWS, verbose=verbose, progress_bar=verbose > 1)
        printed.append(capsys.readouterr())
    assert [captured.out != "" for captured in printed] == [False, True, True, True]
    assert ["/9 " in captured.err for captured in printed] == [False, False, True, True]
    assert printed[3].out.startswith("Training on 250 samples, validating on 83 samples.")
    assert "16 steps at most" in printed[3].out


# A training whose best epoch is not the last, and another one by loss than by accuracy.
OVERFITTING = {"learning_rate": 0.5, "max_epochs": 12, "batch_size": 16}


def best_epoch(net, monitor):
    scores = net.history[:, monitor]
    return int(np.argmax(scores) if monitor == "valid_acc" else np.argmin(scores))


@pytest.mark.parametrize(
    ("monitor", "architecture"),
    [
        ("valid_acc", {}),
        ("valid_loss", {}),
        ("valid_acc", {"variant": "standard"}),
        ("valid_loss", {"hidden_sizes": [8]}),
    ],
    ids=str,
)
def test_the_weights_of_the_best_epoch_are_kept(monitor, architecture):
    steps = EveryEpoch()
    changes = OVERFITTING | {"monitor": monitor, "callbacks": (steps,)}
    net = trained(valid_rows=VALID_ROWS, architecture=architecture, **changes)
    expected = steps.epochs[best_epoch(net, monitor)]
    assert not torch.equal(expected["bag.pool"], steps.epochs[-1]["bag.pool"])
    assert_equal(weights(net), expected)


@pytest.mark.parametrize(("monitor", "restore_best"), [("valid_acc", True), ("valid_loss", False)])
def test_patience_ends_training_by_the_measure_chosen(monitor, restore_best):
    changes = OVERFITTING | {"max_epochs": 40, "monitor": monitor, "restore_best": restore_best}
    net = trained(valid_rows=VALID_ROWS, patience=3, **changes)
    assert len(net.history) == best_epoch(net, monitor) + 4
    assert not net.interrupted_


@pytest.mark.parametrize("monitor", ["valid_acc", "valid_loss"])
def test_the_step_size_falls_on_a_plateau(monitor):
    net = trained(valid_rows=VALID_ROWS, plateau=(2, 0.5), monitor=monitor, **OVERFITTING)
    sign = 1 if monitor == "valid_acc" else -1
    best = -np.inf
    flat = 0
    rate = 0.5
    expected = []
    for score in net.history[:, monitor]:
        expected.append(rate)
        best, flat = (sign * score, 0) if sign * score > best else (best, flat + 1)
        if flat == 2:
            rate, flat = rate / 2, 0
    assert net.history[:, "lr"] == expected
    assert len(set(expected)) > 2


def test_a_plateau_lowers_what_the_schedule_left():
    steps = EveryStep()
    changes = OVERFITTING | {"decay": "linear", "plateau": (1, 0.1), "callbacks": (steps,)}
    net = trained(valid_rows=VALID_ROWS, **changes)
    n_steps = len(steps.rates)
    falls = np.array(steps.rates)[:, 0] / (0.5 * (1 - np.arange(n_steps) / n_steps))
    assert np.unique(np.round(np.log10(falls), 6)).tolist() == [
        -n for n in reversed(range(len(np.unique(falls.round(9)))))
    ]
    assert len(net.history) == 12


@pytest.mark.gpu
@pytest.mark.parametrize("hidden", [[], [8]], ids=["linear", "hidden"])
def test_a_batch_on_cuda_gives_the_gradients_of_the_cpu(hidden):
    found = {}
    for device in ("cpu", "cuda"):
        net = fresh_net(hidden_sizes=hidden)
        net.set_params(device=device)
        net.module_.to(device)
        batches = SparseBatches(
            ROWS, 100, shuffle=True, generator=np.random.default_rng(0), device=device
        )
        batch, targets = next(iter(batches))
        loss = net.get_loss(net.infer(batch), targets, X=batch)
        loss.backward()
        gradients = {name: parameter.grad for name, parameter in net.module_.named_parameters()}
        found[device] = [loss, *(g.to_dense() if g.is_sparse else g for g in gradients.values())]
    for there, here in zip(found["cuda"], found["cpu"], strict=True):
        assert there.device.type == "cuda"
        # sums that cancel keep their error
        torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("valid_rows", [None, VALID_ROWS], ids=["plain", "held out"])
def test_training_on_cuda_comes_to_the_same(valid_rows):
    losses = {}
    for device in ("cpu", "cuda"):
        net = fresh_net(device)
        with plain_torch(device):
            train(
                net,
                ROWS,
                valid_rows,
                replace(PLAN, schedule=Schedule("linear", average=True), max_epochs=3),
            )
        losses[device] = net.history[:, "train_loss"]
        assert all("train_loss" in batch for batch in net.history[-1, "batches"][:8])
    np.testing.assert_allclose(losses["cuda"], losses["cpu"], rtol=1e-3)
