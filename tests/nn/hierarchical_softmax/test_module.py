"""The module alone: states of other trees, batches of sequences, reductions of the loss."""

from __future__ import annotations

import copy

import pytest
import torch

from sklearn_hashnlp.nn import (
    HierarchicalSoftmax,
)
from sklearn_hashnlp.trees import complete_tree, random_tree

TREE = complete_tree(9)


def layer_and_batch(*shape, **options):
    torch.manual_seed(0)
    layer = HierarchicalSoftmax(TREE, 4, **options)
    torch.nn.init.normal_(layer.weight)
    return layer, torch.randn(*shape, 4), torch.randint(0, 9, shape)


@pytest.mark.parametrize("strict", [True, False])
def test_a_checkpoint_is_not_loaded_into_a_layer_with_another_tree(strict):
    layer, inputs, target = layer_and_batch(5)
    other = HierarchicalSoftmax(random_tree(9, random_state=1), 4)
    before = copy.deepcopy(other.weight)
    with pytest.raises(ValueError, match="another tree"):
        torch.nn.Sequential(other).load_state_dict(torch.nn.Sequential(layer).state_dict(), strict=strict)
    assert torch.equal(other.weight, before)
    same = HierarchicalSoftmax(complete_tree(9), 4)
    same.load_state_dict(layer.state_dict())
    assert torch.equal(same(inputs, target)[0], layer(inputs, target)[0])


def test_a_checkpoint_without_the_digest_of_its_tree_is_refused():
    layer = layer_and_batch(5)[0]
    state = {name: value for name, value in layer.state_dict().items() if name in ("weight", "bias")}
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        HierarchicalSoftmax(TREE, 4).load_state_dict(state)


@pytest.mark.parametrize("shape", [(), (2, 3), (2, 1, 3), (0, 3)])
def test_the_output_layer_takes_batches_of_sequences(shape):
    layer, inputs, target = layer_and_batch(*shape)
    output, loss = layer(inputs, target)
    assert output.shape == shape
    assert loss.shape == ()
    torch.testing.assert_close(output, layer.log_prob(inputs).gather(-1, target.unsqueeze(-1)).squeeze(-1))
    assert layer.log_prob(inputs).shape == (*shape, 9)
    assert [part.shape for part in layer.topk(inputs, 2)] == [(*shape, 2), (*shape, 2)]
    assert layer.predict(inputs).shape == layer.predict(inputs, "greedy").shape == layer.sample(inputs).shape == shape


def test_the_output_has_the_names_of_torchs_adaptive_softmax():
    layer, inputs, target = layer_and_batch(5)
    result = layer(inputs, target)
    assert torch.equal(result.output, result[0])
    assert torch.equal(result.loss, -result.output.mean())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_is_reduced_as_by_torchs_cross_entropy(reduction):
    layer, inputs, target = layer_and_batch(2, 3, reduction=reduction, ignore_index=8)
    target[0, 0] = 8
    loss = layer(inputs, target).loss
    expected = torch.nn.functional.nll_loss(
        layer.log_prob(inputs).movedim(-1, 1), target, ignore_index=8, reduction=reduction
    )
    torch.testing.assert_close(loss, expected)


def test_a_list_of_targets_gets_a_clear_error():
    layer, inputs, target = layer_and_batch(5)
    with pytest.raises(TypeError, match=r"target must be a Tensor of integers, got list\. Pass torch\.tensor"):
        layer(inputs, target.tolist())
