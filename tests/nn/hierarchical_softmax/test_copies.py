"""Copies, state dicts and devices of the layer, and the same bytes on any number of threads."""

import copy
import pickle

import pytest
import torch

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.trees import complete_tree, huffman_tree, random_tree, two_level_tree

from ..tree_layers import MIXED, batch_for, make


def test_copies_pickles_and_state_dicts_compute_the_same():
    layer = make(n_direct=9, dtype=torch.float32)
    inputs, target, features = batch_for(layer, 6)
    expected = layer(inputs, target, features)[0]
    other = HierarchicalSoftmax(MIXED, 3, n_direct=9)
    other.load_state_dict(layer.state_dict())
    assert set(layer.state_dict()) == {"weight", "bias", "direct", "_extra_state"}
    size = len(pickle.dumps(layer))
    layer.log_prob(inputs, features)
    assert len(pickle.dumps(layer)) == size  # tensors that follow from the tree are not pickled
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), other):
        assert torch.equal(twin(inputs, target, features)[0], expected)
        assert torch.equal(twin.topk(inputs, 2, features)[1], layer.topk(inputs, 2, features)[1])
        RowwiseAdagrad(twin.parameters()).step()
        torch.nn.init.zeros_(twin.weight)
        assert torch.equal(layer(inputs, target, features)[0], expected)


@pytest.mark.parametrize("strict", [True, False])
def test_a_state_of_another_tree_is_refused(strict):
    layer, other = make(complete_tree(9)), make(random_tree(9, random_state=1), seed=1)
    before = copy.deepcopy(other.weight)
    with pytest.raises(ValueError, match="another tree"):
        torch.nn.Sequential(other).load_state_dict(
            torch.nn.Sequential(layer).state_dict(), strict=strict
        )
    assert torch.equal(other.weight, before)
    make(complete_tree(9), seed=1).load_state_dict(layer.state_dict())
    state = {
        name: value for name, value in layer.state_dict().items() if name in ("weight", "bias")
    }
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        make(complete_tree(9)).load_state_dict(state)


def test_a_state_of_other_direct_connections_is_refused():
    layer = make(n_direct=9, direct_seed=3, dtype=torch.float32)
    HierarchicalSoftmax(MIXED, 3, n_direct=9, direct_seed=3 + 2**64).load_state_dict(
        layer.state_dict()
    )
    with pytest.raises(ValueError, match=r"with direct_seed=3 modulo 2\*\*64, this layer has 0"):
        HierarchicalSoftmax(MIXED, 3, n_direct=9).load_state_dict(layer.state_dict())
    # neither uses its seed
    HierarchicalSoftmax(MIXED, 3).load_state_dict(make(direct_seed=3).state_dict())


def test_a_layer_from_the_meta_device_can_be_initialized_or_loaded():
    layer = make(n_direct=9, dtype=torch.float32)
    with torch.device("meta"):
        other = HierarchicalSoftmax(MIXED, 3, n_direct=9)
    other = other.to_empty(device="cpu")
    # else kernels would read nodes out of bounds
    assert torch.equal(other.class_up, layer.class_up)
    other.class_up.fill_(10**6)
    other.to_empty(device="cpu").load_state_dict(layer.state_dict())
    inputs, target, features = batch_for(layer, 6)
    assert torch.equal(other(inputs, target, features)[0], layer(inputs, target, features)[0])
    other.reset_parameters()
    log_probs = other.log_prob(inputs, features).gather(1, target[:, None])[:, 0]
    torch.testing.assert_close(other(inputs, target, features)[0], log_probs)


def test_gradients_after_inference():
    layer = make(n_direct=9, dtype=torch.float32)
    inputs, _, features = batch_for(layer, 6)
    with torch.inference_mode():
        expected = layer.log_prob(inputs, features)
    log_probs = layer.log_prob(inputs, features)
    torch.testing.assert_close(log_probs, expected)
    log_probs.sum().backward()
    assert layer.direct.grad.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_device_is_ignored(sparse):
    layer = make(sparse=sparse, dtype=torch.float32)
    inputs, target, _ = batch_for(layer, 6)
    with torch.device("meta"):
        layer(inputs, target)[1].backward()
        everything = layer.log_prob(inputs)
        classes = layer.topk(inputs, 2)[1], layer.predict(inputs, "greedy"), layer.sample(inputs)
    for tensor in (layer.weight.grad, everything, *classes):
        assert tensor.device.type == "cpu"


@pytest.mark.parametrize(
    "tree", [huffman_tree(range(1, 400)), two_level_tree(400)], ids=["huffman", "two-level"]
)
def test_the_same_bytes_at_one_thread_and_at_two(tree):
    results, n_threads = [], torch.get_num_threads()
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            layer = make(tree, 128, n_direct=999, sparse=True, dtype=torch.float32)
            inputs, target, features = batch_for(layer, 400)
            inputs.requires_grad_()
            log_probs, loss = layer(inputs, target, features)
            loss.backward()
            grads = [
                part
                for table in layer.parameters()
                for part in (table.grad._indices(), table.grad._values())
            ]
            RowwiseAdagrad(layer.parameters()).step()
            tensors = [log_probs, loss, inputs.grad, *grads, *layer.topk(inputs, 5, features)]
            tensors += [layer.predict(inputs, "greedy", features)]
            tensors += [
                layer.sample(inputs, features, generator=torch.Generator().manual_seed(1)),
                *layer.parameters(),
            ]
            results.append([part.detach().numpy().tobytes() for part in tensors])
    finally:
        torch.set_num_threads(n_threads)
    assert results[0] == results[1]
