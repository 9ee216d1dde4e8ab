"""Copies of the layer, and where its tensors are made."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.trees import tree_from_nested

MIXED = tree_from_nested([[0, [1, 2, 3]], 4, [5, 6]])


def make(**options):
    torch.manual_seed(0)
    layer = HierarchicalSoftmax(MIXED, 3, **options)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    return layer


def batch_for(layer):
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(6, 3, generator=generator)
    features = torch.randint(-(2**61), 2**62, (6, 2), generator=generator)
    return inputs, torch.arange(6), features if layer.n_direct else None


def test_copies_pickles_and_state_dicts_give_the_same():
    layer = make(n_direct=9)
    inputs, target, features = batch_for(layer)
    expected = layer(inputs, target, features)[0]
    other = HierarchicalSoftmax(MIXED, 3, n_direct=9)
    other.load_state_dict(layer.state_dict())
    assert set(layer.state_dict()) == {"weight", "bias", "direct"}
    size = len(pickle.dumps(layer))
    layer.log_prob(inputs, features)
    assert len(pickle.dumps(layer)) == size  # what follows from the tree is not worth its bytes
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), other):
        assert torch.equal(twin(inputs, target, features)[0], expected)
        assert torch.equal(twin.topk(inputs, 2, features)[1], layer.topk(inputs, 2, features)[1])
        RowwiseAdagrad(twin.parameters()).step()
        torch.nn.init.zeros_(twin.weight)
        assert torch.equal(layer(inputs, target, features)[0], expected)


def test_a_layer_made_without_memory_is_whole_after_its_reset():
    with torch.device("meta"):
        layer = HierarchicalSoftmax(MIXED, 3, n_direct=9)
    layer = layer.to_empty(device="cpu")
    layer.reset_parameters()
    inputs, target, features = batch_for(layer)
    torch.testing.assert_close(
        layer(inputs, target, features)[0], layer.log_prob(inputs, features).gather(1, target[:, None])[:, 0]
    )


def test_a_layer_made_without_memory_is_whole_after_its_state():
    layer = make(n_direct=9)
    with torch.device("meta"):
        other = HierarchicalSoftmax(MIXED, 3, n_direct=9)
    other = other.to_empty(device="cpu")
    assert torch.equal(other.class_up, layer.class_up)  # else numbers that are no nodes would be climbed
    other.class_up.fill_(10**6)
    other.to_empty(device="cpu").load_state_dict(layer.state_dict())
    inputs, target, features = batch_for(layer)
    assert torch.equal(other(inputs, target, features)[0], layer(inputs, target, features)[0])


def test_gradients_after_inference():
    layer = make(n_direct=9)
    inputs, _, features = batch_for(layer)
    with torch.inference_mode():
        expected = layer.log_prob(inputs, features)
    log_probs = layer.log_prob(inputs, features)
    torch.testing.assert_close(log_probs, expected)
    log_probs.sum().backward()
    assert layer.direct.grad.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_device_is_not_asked(sparse):
    layer = make(sparse=sparse)
    inputs, target, _ = batch_for(layer)
    with torch.device("meta"):
        layer(inputs, target)[1].backward()
        everything = layer.log_prob(inputs)
        found = layer.topk(inputs, 2)[1], layer.predict(inputs, "greedy"), layer.sample(inputs)
    for tensor in (layer.weight.grad, everything, *found):
        assert tensor.device.type == "cpu"
