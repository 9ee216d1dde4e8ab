from contextlib import nullcontext

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch import nn

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


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a fault of the callback")], ids=repr)
def test_an_unfinished_epoch_leaves_the_history(error):
    class Fails(Callback):
        def on_batch_begin(self, net, **kwargs):
            if len(net.history) == 2 and len(net.history[-1]["batches"]) == 3:
                raise error

    net = make(Fails(), max_epochs=9)
    with nullcontext() if isinstance(error, KeyboardInterrupt) else pytest.raises(RuntimeError, match="a fault of the"):
        net.fit(X, Y)
    assert len(net.history) == 1
    assert not net.interrupted_  # by the callback, and not by SIGINT
