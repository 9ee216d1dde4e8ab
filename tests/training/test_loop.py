from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch import nn

from sklearn_hashnlp.training import _loop
from sklearn_hashnlp.training._loop import Net

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = X[:, :1] - X[:, 1:2]


def make(*callbacks, **options):
    return Net(
        nn.Linear, module__in_features=3, module__out_features=1, criterion=nn.MSELoss, train_split=None,
        batch_size=10, verbose=0, callbacks=list(callbacks), **options,
    )  # fmt: skip


class Recorder(Callback):
    def __init__(self, stop_at=None):
        self.stop_at, self.seen = stop_at, []

    def on_epoch_end(self, net, **kwargs):
        self.seen.append(len(net.history))
        if len(net.history) == self.stop_at:
            raise KeyboardInterrupt


class EveryBatch(Callback):
    def __init__(self):
        self.n_begun = self.n_ended = 0

    def on_batch_begin(self, net, training=False, **kwargs):
        self.n_begun += training

    def on_batch_end(self, net, loss, training=False, **kwargs):
        self.n_ended += training
        assert net.history[-1]["batches"][-1]["train_loss"] == loss.item()


def test_it_learns_as_skorch_does():
    torch.manual_seed(0)
    net = make(max_epochs=30, lr=0.1).fit(X, Y)
    assert net.history[-1, "train_loss"] < 0.05 * net.history[0, "train_loss"]
    assert net.history[:, "train_batch_count"] == [4] * 30
    assert not net.interrupted_


def test_all_callbacks_have_their_turn_when_one_ends_training():
    first, second = Recorder(stop_at=3), Recorder()
    net = make(first, second, max_epochs=9).fit(X, Y)
    assert first.seen == second.seen == [1, 2, 3]
    assert len(net.history) == 3
    assert not net.interrupted_


def test_an_unfinished_epoch_leaves_the_history():
    class Stops(Callback):
        def on_batch_begin(self, net, **kwargs):
            if len(net.history) == 2 and len(net.history[-1]["batches"]) == 3:
                raise KeyboardInterrupt

    net = make(Stops(), max_epochs=9).fit(X, Y)
    assert len(net.history) == 1
    assert not net.interrupted_  # by the callback, and not by SIGINT


def test_an_epoch_that_an_error_ended_leaves_the_history():
    class Fails(Callback):
        def on_batch_end(self, net, **kwargs):
            if len(net.history) == 2:
                raise RuntimeError("a fault of the callback")

    net = make(Fails(), max_epochs=9)
    with pytest.raises(RuntimeError, match="a fault of the callback"):
        net.fit(X, Y)
    assert len(net.history) == 1
    assert not net.interrupted_


def test_a_deadline_closes_the_epoch():
    net = make(max_epochs=9)
    net.deadline = time.perf_counter() - 1
    net.fit(X, Y)
    assert net.history[:, "train_batch_count"] == [1]
    assert not net.interrupted_


def test_callbacks_of_batches():
    counter = EveryBatch()
    net = make(counter, Recorder(), max_epochs=2).fit(X, Y)
    assert (counter.n_begun, counter.n_ended) == (8, 8)
    assert [method.__self__ for method in net.hooks("on_batch_begin")] == [counter]


@pytest.mark.parametrize("every", [1, 3, 100])
def test_losses_asked_for_later(every, monkeypatch):
    monkeypatch.setitem(_loop.MEASURED_EVERY, "cpu", every)
    torch.manual_seed(0)
    net = make(max_epochs=2).fit(X, Y)
    torch.manual_seed(0)
    monkeypatch.setitem(_loop.MEASURED_EVERY, "cpu", 1)
    other = make(max_epochs=2).fit(X, Y)
    assert [entry["batches"] for entry in net.history] == [entry["batches"] for entry in other.history]


def test_divergence():
    with pytest.raises(ValueError, match="The training diverged: the loss is infinite or not a number"):
        make(max_epochs=99, lr=1e10).fit(X, Y)
