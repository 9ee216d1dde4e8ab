"""Paths by compiled kernels against plain torch, whose autograd is the oracle."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._compiled_tree import runs_compiled
from sklearn_hashnlp.nn._tree_torch import path_log_probs
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.trees import balanced_tree, huffman_tree, two_level_tree

from ..random_trees import TREES, chain
from .tree_layers import MIXED, make
from .tree_layers import batch_for as random_batch


def batch_for(layer, n_rows, n_features=2, seed=0):
    inputs, target, features = random_batch(layer, n_rows, seed, n_features)
    return inputs.requires_grad_(), target, features


def plainly(layer, inputs, target, features):
    return path_log_probs(layer._scorer(), layer._path_tensors(), inputs, target, features)


def is_compiled(log_probs):
    return type(log_probs.grad_fn).__name__ == "CompiledPathsBackward"


def assert_the_same(layer, batch, rtol=1e-9, atol=1e-11):
    ours, theirs = layer(*batch)[0], plainly(layer, *batch)
    assert is_compiled(ours)
    assert not is_compiled(theirs)
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol)
    upstream = torch.randn(
        theirs.shape, dtype=theirs.dtype, generator=torch.Generator().manual_seed(1)
    )
    sources = [batch[0], *layer.parameters()]
    for source, our, their in zip(
        sources,
        *(torch.autograd.grad(log_probs, sources, upstream) for log_probs in (ours, theirs)),
        strict=True,
    ):
        assert our.is_sparse == their.is_sparse == (layer.sparse and source is not batch[0])
        if our.is_sparse:
            assert (our._indices().diff() > 0).all()
            their = their.coalesce()
            if len(batch[0]):
                assert torch.equal(our._indices(), their._indices())  # visited rows, and no others
            our, their = our.to_dense(), their.to_dense()
        torch.testing.assert_close(our, their, rtol=rtol, atol=atol)


@given(
    tree=TREES.filter(lambda tree: tree.n_classes > 1),
    in_features=st.sampled_from([1, 3, 16, 17]),
    n_rows=st.integers(0, 40),
    n_direct=st.sampled_from([0, 1, 5, 500]),
    n_features=st.integers(0, 3),
    sparse=st.booleans(),
    seed=st.integers(0, 9),
)
def test_any_tree_and_any_batch(tree, in_features, n_rows, n_direct, n_features, sparse, seed):
    layer = make(tree, in_features, seed=seed, n_direct=n_direct, sparse=sparse)
    assert_the_same(layer, batch_for(layer, n_rows, n_features, seed))


@pytest.mark.parametrize(
    ("tree", "sparse", "n_direct"),
    [
        (huffman_tree(range(1, 2000)), True, 0),
        (two_level_tree(2000), False, 100),
        (chain(200), True, 100),
        (balanced_tree(2000, 11), False, 0),
    ],
    ids=["huffman", "two-level", "chain", "eleven"],
)
def test_single_precision_is_close_to_plain_torch(tree, sparse, n_direct):
    layer = make(tree, 64, dtype=torch.float32, n_direct=n_direct, sparse=sparse)
    # Large enough that the backward pass uses two threads.
    assert_the_same(layer, batch_for(layer, 700), rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("n_direct", [0, 11])
@pytest.mark.parametrize("tree", [MIXED, balanced_tree(9)], ids=["mixed", "binary"])
def test_gradients_are_those_of_finite_differences(tree, n_direct):
    layer = make(tree, n_direct=n_direct)
    inputs, target, features = batch_for(layer, 6)

    def compiled(inputs, *_):
        return layer(inputs, target, features)[0]

    sources = (inputs, *layer.parameters())
    assert is_compiled(compiled(inputs))
    assert torch.autograd.gradcheck(compiled, sources)
    assert torch.autograd.gradgradcheck(compiled, sources)


def test_gradients_that_are_not_needed_are_not_computed():
    layer = make(MIXED, n_direct=11, sparse=True)
    inputs, target, features = batch_for(layer, 6)
    layer(inputs, target, features)[1].backward()
    expected = {name: table.grad.to_dense() for name, table in layer.named_parameters()}
    for needed in expected:
        other = make(MIXED, n_direct=11, sparse=True)
        for name, table in other.named_parameters():
            table.requires_grad_(name == needed)
        other(inputs.detach(), target, features)[1].backward()
        for name, table in other.named_parameters():
            assert (table.grad is not None) == (name == needed)
        assert torch.equal(getattr(other, needed).grad.to_dense(), expected[needed])
    other.requires_grad_(False)
    other(inputs, target, features)[1].backward()
    assert inputs.grad.any()
    with torch.no_grad():
        assert not layer(inputs, target, features)[0].requires_grad


def test_a_gradient_penalty_has_gradients():
    layer = make(MIXED, sparse=True)
    inputs, target, _ = batch_for(layer, 6)
    penalties = []
    for loss in (layer(inputs, target)[1], -plainly(layer, inputs, target, None).mean()):
        (gradient,) = torch.autograd.grad(loss, inputs, create_graph=True)
        penalty = torch.autograd.grad(gradient.square().sum(), inputs)[0]
        penalties.append(penalty)
    assert penalties[0].any()
    torch.testing.assert_close(*penalties)


def test_features_without_columns_have_second_derivatives():
    layer = make(MIXED, n_direct=11)
    inputs, target, features = batch_for(layer, 6, n_features=0)
    loss = layer(inputs, target, features)[1]
    of_inputs, of_direct = torch.autograd.grad(
        loss, (inputs, layer.direct), create_graph=True, allow_unused=True
    )
    assert of_direct is None or not of_direct.any()
    of_inputs.square().sum().backward()
    assert inputs.grad.any()


@pytest.mark.parametrize("name", ["weight", "bias", "direct", "input", "target", "by an optimizer"])
def test_a_change_before_the_backward_pass_is_detected(name):
    layer = make(MIXED, n_direct=11)
    inputs, target, features = batch_for(layer, 6)
    rows = inputs * 1
    loss = layer(rows, target, features)[1]
    if name == "by an optimizer":
        loss.backward(retain_graph=True)
        RowwiseAdagrad(layer.parameters()).step()
    else:
        with torch.no_grad():
            {"input": rows, "target": target, **dict(layer.named_parameters())}[name].mul_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_functorch_transforms_run_in_plain_torch():
    layer = make(MIXED)
    inputs, target, _ = batch_for(layer, 6)

    def loss(weight):
        return torch.func.functional_call(layer, {"weight": weight}, (inputs.detach(), target))[1]

    layer(inputs, target)[1].backward()
    torch.testing.assert_close(torch.func.grad(loss)(layer.weight.detach()), layer.weight.grad)
    assert runs_compiled(inputs, layer.weight)
    assert not runs_compiled(inputs.float(), layer.weight)
    assert not runs_compiled(inputs.half(), layer.weight.half())
    assert not runs_compiled(inputs.to("meta"), layer.weight.to("meta"))


@pytest.mark.parametrize("sparse", [False, True])
def test_two_backward_passes_add_up(sparse):
    layer = make(MIXED, n_direct=11, sparse=sparse)
    first, second = batch_for(layer, 6), batch_for(layer, 9, seed=1)
    for batch in (first, second):
        layer(*batch)[0].sum().backward()
    expected = torch.autograd.grad(
        plainly(layer, *first).sum() + plainly(layer, *second).sum(), list(layer.parameters())
    )
    for table, gradient in zip(layer.parameters(), expected, strict=True):
        torch.testing.assert_close(table.grad.to_dense(), gradient.to_dense())
