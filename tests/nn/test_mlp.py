"""The head: what layers it has and how its last one starts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._hash_embedding_network import make_head


def test_hidden_layers_are_linear_normalised_and_rectified():
    head = make_head(22, [10, 7], 4)
    assert [type(layer) for layer in head] == [
        *(nn.Linear, nn.BatchNorm1d, nn.ReLU),
        *(nn.Linear, nn.BatchNorm1d, nn.ReLU),
        nn.Linear,
    ]
    assert head(torch.randn(5, 22)).shape == (5, 4)


def test_the_last_layer_starts_orthogonal_and_without_bias():
    last = make_head(22, [], 4)[0]
    torch.testing.assert_close(last.weight @ last.weight.T, torch.eye(4), atol=1e-5, rtol=0)
    assert not last.bias.any()


@pytest.fixture
def _unusual_defaults():
    torch.set_default_dtype(torch.float64)
    with torch.device("meta"):
        yield
    torch.set_default_dtype(torch.float32)


def start(**options):
    torch.manual_seed(0)
    return make_head(22, [10], 4, **options).state_dict()


@pytest.mark.usefixtures("_unusual_defaults")
def test_device_and_dtype_are_those_asked_for_whatever_the_defaults():
    state = start(device="cpu", dtype=torch.float32)
    floats = [value for value in state.values() if value.is_floating_point()]  # batch norm counts batches in integers
    assert {value.device.type for value in state.values()} == {"cpu"}
    assert {value.dtype for value in floats} == {torch.float32}
    torch.set_default_dtype(torch.float32)
    with torch.device("cpu"):
        usual = start()
    assert all(torch.equal(value, usual[name]) for name, value in state.items())


@pytest.mark.usefixtures("_unusual_defaults")
def test_none_is_the_default_of_torch():
    weight = make_head(22, [], 4)[0].weight
    assert (weight.device.type, weight.dtype) == ("meta", torch.float64)
