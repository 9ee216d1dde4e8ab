"""Dtypes and memory layouts of the input, and the errors for wrong ones."""

from contextlib import nullcontext

import pytest
import torch

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import complete_tree

from ..tree_layers import MIXED, batch_for, make, plain_torch


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.uint32])
def test_targets_and_features_of_other_integers(dtype):
    layer = make(MIXED, n_direct=9)
    inputs, target, _ = batch_for(layer, 6)
    features = torch.arange(12).view(6, 2)
    expected = layer(inputs, target, features)[0]
    assert torch.equal(layer(inputs, target.to(dtype), features.to(dtype))[0], expected)


def test_inputs_need_not_be_contiguous():
    layer = make(MIXED, n_direct=9)
    inputs, target, features = batch_for(layer, 6)
    strided = (part.repeat_interleave(2, dim=0)[::2] for part in (inputs, target, features))
    assert torch.equal(layer(*strided)[0], layer(inputs, target, features)[0])
    transposed = inputs.t().contiguous().t()
    assert torch.equal(layer(transposed, target, features)[0], layer(inputs, target, features)[0])
    assert torch.equal(
        layer.topk(transposed, 2, features.t().contiguous().t())[1],
        layer.topk(inputs, 2, features)[1],
    )


@pytest.mark.parametrize("backend", [nullcontext, plain_torch])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 1, 2)])
def test_features_and_ignored_targets_of_any_leading_shape(shape, backend):
    layer, loss_of_each = make(MIXED, n_direct=9), make(MIXED, n_direct=9, reduction="none")
    inputs, target, features = batch_for(layer, 6)
    expected = layer(inputs[2:], target[2:], features[2:]), layer.topk(inputs, 2, features)[1]
    target[:2] = -100
    nested = inputs.view(*shape, -1), target.view(shape), features.view(*shape, -1)
    with backend():
        output, loss = layer(*nested)
        torch.testing.assert_close(loss, expected[0].loss)
        torch.testing.assert_close(
            output.flatten(), torch.cat([torch.zeros(2).double(), expected[0].output])
        )
        torch.testing.assert_close(loss_of_each(*nested).loss, -output)
        assert torch.equal(layer.topk(nested[0], 2, nested[2])[1].flatten(0, -2), expected[1])
        assert layer.predict(nested[0], "greedy", nested[2]).shape == shape
        assert layer.sample(nested[0], nested[2]).shape == shape
        assert layer.log_prob(nested[0], nested[2]).shape == (*shape, 7)
    assert make(complete_tree(7)).node_prob(nested[0]).shape == (*shape, 6)


def test_a_row_without_a_batch():
    layer = make(MIXED)
    inputs, target, _ = batch_for(layer, 1)
    output, loss = layer(inputs[0], target[0])
    torch.testing.assert_close(output, layer.log_prob(inputs[0])[target[0]])
    torch.testing.assert_close(loss, -output)
    assert layer.topk(inputs[0], 2)[1].shape == (2,)
    for classes in (
        layer.predict(inputs[0]),
        layer.predict(inputs[0], "greedy"),
        layer.sample(inputs[0]),
    ):
        assert classes.shape == ()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_is_reduced_as_by_torchs_cross_entropy(reduction):
    layer = make(MIXED, reduction=reduction, ignore_index=5)
    inputs, target, _ = batch_for(layer, 6)
    target[0] = 5
    inputs, target = inputs.view(2, 3, -1), target.view(2, 3)
    log_probs = layer.log_prob(inputs).movedim(-1, 1)
    expected = torch.nn.functional.nll_loss(log_probs, target, ignore_index=5, reduction=reduction)
    torch.testing.assert_close(layer(inputs, target).loss, expected)


def test_a_batch_of_ignored_targets_alone():
    for reduction, loss in (("mean", torch.nan), ("sum", 0.0)):
        layer = make(MIXED, reduction=reduction)
        output, result = layer(torch.randn(2, 3).double(), torch.full((2,), -100))
        assert output.tolist() == [0, 0]
        torch.testing.assert_close(result.item(), loss, equal_nan=True)
    with pytest.raises(ValueError, match="target must be between 0 and 6, got -100"):
        make(MIXED, ignore_index=None)(torch.randn(2, 3).double(), torch.full((2,), -100))


BINARY, DIRECT = make(complete_tree(7)), make(MIXED, n_direct=9)
INPUTS, TARGET, FEATURES = batch_for(DIRECT, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BINARY(INPUTS, TARGET * 0 + 7), "target must be between 0 and 6, got 7"),
        (lambda: BINARY(INPUTS, TARGET * 0 - 1), "target must be between 0 and 6, got -1"),
        (lambda: BINARY(INPUTS, TARGET[:5]), r"target must have shape \(6,\).*got \(5,\)"),
        (
            lambda: BINARY(INPUTS, TARGET.float()),
            r"target must have an integer dtype, got torch.float32",
        ),
        (
            lambda: BINARY(INPUTS, TARGET.tolist()),
            r"must be a Tensor of integers, got list\. Pass torch\.tensor",
        ),
        (lambda: BINARY.log_prob(INPUTS[:, :2]), r"input must have shape \(\.\.\., 3\), got"),
        (lambda: BINARY.log_prob(INPUTS[0, 0]), r"input must have shape \(\.\.\., 3\), got"),
        (lambda: BINARY.topk(INPUTS.tolist(), 1), "input must be a Tensor, got list"),
        (
            lambda: BINARY.topk(INPUTS.float(), 1),
            r"weight's dtype torch.float64, got torch.float32",
        ),
        (lambda: BINARY.topk(INPUTS, 0), "k must be an integer from 1 to 7, got 0"),
        (lambda: BINARY.topk(INPUTS, 8), "k must be an integer from 1 to 7, got 8"),
        (lambda: BINARY.predict(INPUTS, search="beam"), "search must be one of .*, got 'beam'"),
        (
            lambda: BINARY(INPUTS, TARGET, FEATURES),
            "features must be None without direct connections",
        ),
        (lambda: DIRECT(INPUTS, TARGET), "are required with n_direct=9"),
        (
            lambda: DIRECT.predict(INPUTS, features=FEATURES[:5]),
            r"must have shape \(6, n_features\).*got \(5, 2\)",
        ),
        (
            lambda: DIRECT.sample(INPUTS, FEATURES.double()),
            "features must have an integer dtype, got torch.float64",
        ),
        (lambda: DIRECT.node_prob(INPUTS, FEATURES), "but node 0 has 3"),
        (lambda: HierarchicalSoftmax(7, 3), "tree must be a SoftmaxTree, got int"),
        (
            lambda: HierarchicalSoftmax(MIXED, 0),
            "in_features must be an integer of at least 1, got 0",
        ),
        (
            lambda: HierarchicalSoftmax(MIXED, 3, reduction="max"),
            "reduction must be one of .*, got 'max'",
        ),
        (
            lambda: HierarchicalSoftmax(MIXED, 3, n_direct=-1),
            "n_direct must be an integer from 0 .*, got -1",
        ),
        (
            lambda: HierarchicalSoftmax(MIXED, 3, n_direct=2**31),
            "n_direct must be .*, got 2147483648",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
