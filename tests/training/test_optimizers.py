"""The state of an optimizer survives as arrays, bit for bit."""

import numpy as np
import pytest
import torch

from sklearn_hashnlp.training._optimizers import (
    load_optimizer,
    read_state,
    transfer_state,
)
from tests.training.nets import fresh_net

IDS = torch.from_numpy(np.random.default_rng(0).integers(0, 2**31, (6, 40)))
OFFSETS = torch.arange(0, 41, 5)


def make(hidden=()):
    return fresh_net(num_embeddings=50_000, num_buckets=5000, hidden_sizes=hidden)


def take_steps(module, optimizer, batches):
    module.train()
    for ids in IDS[batches]:
        optimizer.zero_grad()
        module(ids, OFFSETS, torch.ones(40)).square().sum().backward()
        optimizer.step()


def test_one_of_another_kind_begins_anew():
    net = make()
    old, new = net.make_optimizer("adagrad", 0.1), net.make_optimizer("adam", 0.1)
    take_steps(net.module_, old, slice(0, 2))
    transfer_state(old, new)
    assert not new.state


def test_an_average_that_was_not_loaded_is_not_transferred():
    net = make()
    old, new = net.make_optimizer("adagrad", 0.1), net.make_optimizer("adagrad", 0.1)
    for group in (*old.param_groups, *new.param_groups):
        group["average_after"] = 0
    take_steps(net.module_, old, slice(0, 3))
    transfer_state(old, new)
    before = net.module_.head[0].weight.detach().clone()
    assert not new.load_average()
    assert torch.equal(net.module_.head[0].weight, before)


def test_an_optimizer_that_was_never_used_has_no_arrays():
    net = make()
    values, arrays = read_state(net.module_, net.make_optimizer("adam", 1.0)).to_training_state(
        net.tables()
    )
    assert (values["optimizer"], arrays) == ("adam", {})


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        (
            "head.0.weight.sum",
            (2, 2),
            r"'head.0.weight.sum' must have shape \(3, 6\), it has \(2, 2\)",
        ),
        (
            "bag.pool.sum.values",
            (7, 9),
            r"'bag.pool.sum.values' must have rows of one number or of as many as",
        ),
        ("bag.pool.sum.values", (1,), r"'bag.pool.sum' must have shape"),
    ],
)
def test_what_does_not_fit_is_named(name, shape, message):
    net = make()
    optimizer = net.make_optimizer("adagrad", 0.1)
    take_steps(net.module_, optimizer, slice(0, 1))
    values, arrays = read_state(net.module_, optimizer).to_training_state(net.tables())
    with pytest.raises(ValueError, match=message):
        net.load_training_state(values, arrays | {name: np.zeros(shape, np.float32)})
    with pytest.raises(
        ValueError, match=r"must be one of \('adagrad', 'adam', 'sgd'\), got 'lbfgs'"
    ):
        net.load_training_state({"optimizer": "lbfgs"}, {})


def test_states_of_torch_optimizers_move_to_the_parameters_device():
    class Gain(torch.nn.Module):
        def __init__(self, device):
            super().__init__()
            self.gain = torch.nn.Parameter(torch.ones((), device=device))

    once, elsewhere = Gain("cpu"), Gain("meta")
    optimizer, other = torch.optim.Adam(once.parameters()), torch.optim.Adam(elsewhere.parameters())
    once.gain.backward()
    optimizer.step()
    load_optimizer(elsewhere, other, read_state(once, optimizer).to_training_state(())[1])
    state = other.state[elsewhere.gain]
    assert {key: value.device.type for key, value in state.items()} == {
        "step": "cpu",
        "exp_avg": "meta",
        "exp_avg_sq": "meta",
    }
