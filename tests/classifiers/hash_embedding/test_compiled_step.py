"""Training by kernels alone against torch's autograd, and where it stands back."""

from __future__ import annotations

import pytest
import torch
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers.hash_embedding import _sparse_net
from sklearn_hashnlp.classifiers.hash_embedding._compiled_step import (
    CompiledStep,
    supports_compiled_step,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseDataset
from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import make_net
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed
from tests.training.nets import ARCHITECTURE
from tests.training.test_fit import SEVERAL, WEIGHTS, X, Y, changed_plan, train
from tests.trainings import assert_near

ROWS = SparseDataset(X, Y)


@pytest.fixture
def steps(monkeypatch):
    """Count the steps that kernels take."""
    taken = []
    take = CompiledStep._step
    monkeypatch.setattr(
        CompiledStep, "_step", lambda self, *batch: taken.append(1) or take(self, *batch)
    )
    return taken


def fit(rows=ROWS, *, prepare=lambda net: None, **options):
    architecture = ARCHITECTURE | {
        name: options.pop(name) for name in list(options) if name in ARCHITECTURE
    }
    with plain_torch(), torch_seed(0):
        net = make_net(architecture, "cpu").initialize()
        torch.nn.init.normal_(net.module_.bag.pool, std=0.1)
        prepare(net)
        ways = {
            name: options.pop(name) for name in ("loss", "optimizer", "dropout") if name in options
        }
        train(net, rows, None, changed_plan(**options), **ways)
    return net


def weights(net):
    return {name: value.numpy() for name, value in net.module_.state_dict().items()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": "adam", "learning_rate": 0.01},
        {"variant": "paper", "normalize": "l1"},
        {"variant": "standard", "normalize": None},
        {"aggregation": "concat", "append_weight": False},
        {"num_hashes": 1, "embedding_dim": 5, "average": True},
        {"dropout": (2, 4), "decay": "linear"},
        {"shuffle": False, "batch_size": 1000},
    ],
    ids=str,
)
def test_compiled_training_equals_autograd(options, steps, monkeypatch):
    rows = SparseDataset(X, Y, WEIGHTS) if options else ROWS
    ours = fit(rows, **options)
    assert steps
    steps.clear()
    monkeypatch.setattr(_sparse_net, "supports_compiled_step", lambda *_: False)
    theirs = fit(rows, **options)
    assert not steps
    for name, value in weights(ours).items():
        assert_near(value, weights(theirs)[name], rtol=1e-3, atol=1e-4)
    assert_near(ours.history[:, "train_loss"], theirs.history[:, "train_loss"], rtol=1e-5)


@pytest.mark.parametrize("frozen", ["bag.pool", "bag.importance", "head.0.weight", "head.0.bias"])
def test_frozen_parameters_do_not_change(frozen, steps):
    before = {}

    def freeze(net):
        dict(net.module_.named_parameters())[frozen].requires_grad_(False)
        before.update({name: value.copy() for name, value in weights(net).items()})

    after = weights(fit(prepare=freeze))
    assert steps
    assert {name for name in before if (before[name] == after[name]).all()} == {
        frozen,
        "bag._extra_state",
    }


class SeesGradients(Callback):
    def on_grad_computed(self, net, named_parameters, **_):
        assert all(parameter.grad is not None for _, parameter in named_parameters)


class SeesSteps(Callback):
    def on_train_begin(self, net, **_):
        self.seen = []

    def on_batch_end(self, net, batch, training, loss, y_pred, **_):
        assert net.module_.training
        assert y_pred.shape == (len(batch[0]), 3)
        expected = torch.nn.functional.cross_entropy(y_pred, batch[1])
        self.seen.append(torch.testing.assert_close(loss, expected) is None)


def test_callbacks_see_loss_and_scores(steps):
    callback = SeesSteps()
    fit(callbacks=[callback])
    assert len(callback.seen) == len(steps) == 2 * 11


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "hinge"},
        {"hidden_sizes": [5]},
        {"aggregation": "median"},
        {"callbacks": [SeesGradients()]},
        {"num_classes": 300},
        {"prepare": lambda net: net.module_.bag.register_forward_hook(lambda *_: None)},
        {"prepare": lambda net: net.module_.bag.pool.register_hook(lambda _: None)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_networks_are_left_to_autograd(options, steps):
    fit(**options)
    assert not steps


def test_several_labels_a_row_are_left_to_autograd(steps):
    fit(SparseDataset(X, SEVERAL), loss="ova", num_classes=2)
    assert not steps


def test_a_hook_on_all_modules_is_called():
    net = make_net(ARCHITECTURE, "cpu").initialize()
    optimizer = net.make_optimizer("adagrad", 0.1)
    assert supports_compiled_step(net.module_, optimizer)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert not supports_compiled_step(net.module_, optimizer)
    finally:
        handle.remove()
    assert not supports_compiled_step(
        net.module_, torch.optim.SGD(net.module_.parameters(), lr=0.1)
    )
