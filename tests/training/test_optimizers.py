"""What an optimiser has gathered survives as arrays, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn._hash_embedding_network import BagOfHashEmbeddings
from sklearn_hashnlp.training._optimizers import make_optimizer, pack_optimizer, transfer_state, unpack_optimizer
from sklearn_hashnlp.training._torch_scope import torch_seed

IDS = torch.from_numpy(np.random.default_rng(0).integers(0, 2**31, (6, 40)))
OFFSETS = torch.arange(0, 41, 5)


def make_module(hidden=()):
    with torch_seed(0):
        return BagOfHashEmbeddings(
            num_embeddings=50_000,
            num_buckets=5000,
            embedding_dim=4,
            num_hashes=2,
            variant="improved",
            aggregation="sum",
            append_weight=True,
            normalize="l2",
            importance_init=1.0,
            hash_seed=0,
            hidden_sizes=hidden,
            num_classes=3,
        )


def take_steps(module, optimizer, batches):
    module.train()
    for ids in IDS[batches]:
        optimizer.zero_grad()
        module(ids, OFFSETS, torch.ones(40)).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("name", ["adagrad", "adam"])
def test_training_goes_on_from_arrays_as_if_it_had_not_stopped(name, hidden):
    once, twice = make_module(hidden), make_module(hidden)
    take_steps(once, make_optimizer(once, name, learning_rate=0.1), slice(0, 6))
    optimizer = make_optimizer(twice, name, learning_rate=0.1, average_after=0)
    take_steps(twice, optimizer, slice(0, 3))
    values, arrays = pack_optimizer(twice, optimizer)
    assert values == {"optimizer": name}
    assert sum(array.nbytes for array in arrays.values()) < 20_000  # touched rows, and nothing of the mean
    unpacked = unpack_optimizer(twice, values, arrays)
    again = make_optimizer(twice, name, learning_rate=0.1)
    transfer_state(unpacked, again)
    take_steps(twice, again, slice(3, 6))
    for parameter, expected in zip(twice.state_dict().items(), once.state_dict().items(), strict=True):
        assert parameter[0] == expected[0]
        assert torch.equal(parameter[1], expected[1]), parameter[0]


def test_without_the_arrays_training_goes_another_way():
    once, twice = make_module(), make_module()
    take_steps(once, make_optimizer(once, "adagrad", learning_rate=0.1), slice(0, 6))
    take_steps(twice, make_optimizer(twice, "adagrad", learning_rate=0.1), slice(0, 3))
    take_steps(twice, make_optimizer(twice, "adagrad", learning_rate=0.1), slice(3, 6))
    assert not torch.equal(once.head[0].weight, twice.head[0].weight)


def test_one_of_another_kind_begins_anew():
    module = make_module()
    old = make_optimizer(module, "adagrad", learning_rate=0.1)
    take_steps(module, old, slice(0, 2))
    new = make_optimizer(module, "adam", learning_rate=0.1)
    transfer_state(old, new)
    assert not new.state


def test_a_mean_that_was_not_taken_is_not_handed_over():
    module = make_module()
    old = make_optimizer(module, "adagrad", learning_rate=0.1, average_after=0)
    take_steps(module, old, slice(0, 3))
    new = make_optimizer(module, "adagrad", learning_rate=0.1, average_after=0)
    transfer_state(old, new)
    before = module.head[0].weight.detach().clone()
    assert not new.load_average()
    assert torch.equal(module.head[0].weight, before)


def test_the_step_size_of_a_head_with_hidden_layers():
    def rates(name, hidden):
        return [group["lr"] for group in make_optimizer(make_module(hidden), name, learning_rate=0.2).param_groups]

    assert rates("adagrad", ()) == [0.2, 0.2]
    assert rates("adagrad", (8,)) == [0.2, pytest.approx(0.02)]
    assert rates("adam", (8,)) == [0.2, 0.2]


def test_an_optimizer_that_was_never_used_has_no_arrays():
    module = make_module()
    assert pack_optimizer(module, make_optimizer(module, "adam", learning_rate=1.0)) == ({"optimizer": "adam"}, {})


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("head.0.weight.sum", (2, 2), r"'head.0.weight.sum' must have shape \(3, 6\), it has \(2, 2\)"),
        ("bag.pool.sum.values", (7, 9), r"'bag.pool.sum.values' must have rows of one number or of as many as"),
        ("bag.pool.sum.values", (1,), r"'bag.pool.sum' must have shape"),
    ],
)
def test_what_does_not_fit_is_named(name, shape, message):
    module = make_module()
    optimizer = make_optimizer(module, "adagrad", learning_rate=0.1)
    take_steps(module, optimizer, slice(0, 1))
    values, arrays = pack_optimizer(module, optimizer)
    with pytest.raises(ValueError, match=message):
        unpack_optimizer(module, values, arrays | {name: np.zeros(shape, np.float32)})


def test_an_unknown_optimizer_is_named():
    with pytest.raises(ValueError, match=r"must be one of \('adagrad', 'adam'\), got 'sgd'"):
        unpack_optimizer(make_module(), {"optimizer": "sgd"}, {})
