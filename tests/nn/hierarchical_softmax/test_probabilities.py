"""Log-probabilities against the paths of the tree one class at a time, and their precision."""

import copy
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import (
    balanced_tree,
    cluster_tree,
    complete_tree,
    huffman_tree,
    two_level_tree,
)

from ...oracles import hierarchical_softmax as oracle
from ...random_trees import TREES
from ..tree_layers import MIXED, batch_for, make, plain_torch


@given(tree=TREES, n_direct=st.sampled_from([0, 1, 50]), seed=st.integers(0, 9))
def test_log_probabilities_follow_the_paths(tree, n_direct, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, target, features = batch_for(layer, 4, seed)
    lists = [[]] * 4 if features is None else features.tolist()
    expected = torch.tensor(
        [
            oracle.log_probs(layer, row, own)
            for row, own in zip(inputs.tolist(), lists, strict=True)
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(layer.log_prob(inputs, features), expected, rtol=1e-9, atol=1e-10)
    log_probs, loss = layer(inputs, target, features)
    torch.testing.assert_close(
        log_probs, expected.gather(1, target[:, None])[:, 0], rtol=1e-9, atol=1e-10
    )
    torch.testing.assert_close(loss, -log_probs.mean())


@given(tree=TREES, data=st.data())
def test_biases_of_counts_begin_at_the_class_frequencies(tree, data):
    counts = np.array(
        data.draw(st.lists(st.integers(0, 50), min_size=tree.n_classes, max_size=tree.n_classes))
    )
    layer = make(tree).double()
    layer.init_bias(counts)
    frequencies = torch.from_numpy((counts + 1) / (counts + 1).sum())
    zeros = torch.zeros(1, layer.in_features, dtype=torch.float64)
    torch.testing.assert_close(layer.log_prob(zeros)[0].exp(), frequencies)


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, -1], [1, 2, np.nan]])
def test_biases_refuse_wrong_counts(counts):
    with pytest.raises(ValueError, match="init_bias: counts must"):
        HierarchicalSoftmax(complete_tree(3), 2).init_bias(counts)


@pytest.mark.parametrize(
    "builder",
    [
        huffman_tree,
        lambda counts: balanced_tree(counts, 5),
        lambda counts: cluster_tree(counts, np.sqrt(counts)[:, None], leaf_size=9, random_state=0),
    ],
    ids=["huffman", "balanced", "cluster"],
)
def test_a_hundred_thousand_classes(builder):
    tree = builder(10**6 // np.arange(1, 10**5 + 1))
    layer = make(tree, 8, dtype=torch.float32)
    inputs, target, _ = batch_for(layer, 4)
    with torch.no_grad():
        everything = layer.log_prob(inputs)
        torch.testing.assert_close(everything.exp().sum(1), torch.ones(4), rtol=1e-5, atol=0)
        torch.testing.assert_close(
            layer(inputs, target)[0], everything.gather(1, target[:, None])[:, 0]
        )
    torch.testing.assert_close(layer.topk(inputs, 10)[0], everything.topk(10, dim=1).values)


def test_blocks_change_nothing(monkeypatch):
    layer = make(MIXED, n_direct=9)
    inputs, _, features = batch_for(layer, 11)
    expected = layer.log_prob(inputs, features)
    monkeypatch.setattr("sklearn_hashnlp.nn._hierarchical_softmax._BLOCK", 3 * layer.n_classes)
    with torch.no_grad():
        torch.testing.assert_close(
            layer.log_prob(inputs, features), expected.detach(), rtol=1e-12, atol=0
        )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_direct", [0, 7])
def test_a_single_class_has_probability_one(n_direct, sparse):
    layer = make(complete_tree(1), n_direct=n_direct, sparse=sparse)
    inputs, target, features = batch_for(layer, 4)
    inputs.requires_grad_()
    inputs.data[0] = torch.inf  # whatever the input is
    log_probs, loss = layer(inputs, target, features)
    assert log_probs.tolist() == [0] * 4
    loss.backward()
    assert not inputs.grad.any()
    assert layer.log_prob(inputs, features).tolist() == [[0]] * 4
    assert layer.node_prob(inputs, features).shape == (4, 0)
    assert [part.tolist() for part in layer.topk(inputs, 1, features)] == [[[0]] * 4] * 2
    for classes in (
        layer.predict(inputs, features=features),
        layer.predict(inputs, "greedy", features),
        layer.sample(inputs, features),
    ):
        assert classes.tolist() == [0] * 4


@pytest.mark.parametrize(
    "tree", [complete_tree(1), complete_tree(5), MIXED], ids=["one", "binary", "mixed"]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_no_rows(tree, sparse):
    layer = make(tree, n_direct=5, sparse=sparse)
    inputs = torch.empty(0, 3, dtype=torch.float64, requires_grad=True)
    features = torch.empty(0, 2, dtype=torch.int64)
    log_probs, loss = layer(inputs, torch.empty(0, dtype=torch.int64), features)
    assert log_probs.shape == (0,)
    assert loss.isnan()
    log_probs.sum().backward()
    assert inputs.grad.shape == (0, 3)
    assert layer.log_prob(inputs, features).shape == (0, tree.n_classes)
    assert layer.topk(inputs, 1, features)[1].shape == (0, 1)
    assert (
        layer.predict(inputs, "greedy", features).shape
        == layer.sample(inputs, features).shape
        == (0,)
    )


@pytest.mark.parametrize("backend", [nullcontext, plain_torch])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_returns_single_precision(dtype, backend):
    for tree in (complete_tree(9), MIXED):
        layer = make(tree, n_direct=9, dtype=torch.float32)
        below = torch.nn.Linear(4, 3)
        _, target, features = batch_for(layer, 6)
        rows = torch.randn(6, 4)
        expected = layer(below(rows), target, features)[0]
        with backend(), torch.autocast("cpu", dtype=dtype):
            hidden = below(rows)
            assert hidden.dtype == dtype
            log_probs, loss = layer(hidden, target, features)
            everything = layer.log_prob(hidden, features)
            assert layer.topk(hidden, 2, features)[0].dtype == torch.float32
            assert (
                layer.predict(hidden, "greedy", features).shape
                == layer.sample(hidden, features).shape
                == (6,)
            )
        assert log_probs.dtype == loss.dtype == everything.dtype == torch.float32
        torch.testing.assert_close(log_probs, expected, rtol=0.05, atol=0.05)
        loss.backward()
        assert below.weight.grad.any()
        assert layer.weight.grad.any()
        assert layer.direct.grad.any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_layer_of_half_precision(dtype):
    layer, half = make(MIXED, dtype=torch.float32), make(MIXED, dtype=torch.float32).to(dtype)
    inputs, target, _ = batch_for(layer, 6)
    log_probs, loss = half(inputs.to(dtype), target)
    assert log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs, layer(inputs, target)[0], rtol=0.05, atol=0.05)
    loss.backward()
    assert half.weight.grad.dtype == dtype
    assert half.topk(inputs.to(dtype), 2)[0].dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("tree", [MIXED, huffman_tree(range(1, 1000)), two_level_tree(1000)])
def test_cuda_agrees_with_the_cpu(tree, sparse):
    layer = make(tree, 16, n_direct=99, sparse=sparse)
    twin = copy.deepcopy(layer).cuda()
    batch = batch_for(layer, 64)
    on_gpu = [part.cuda() for part in batch]
    results = []
    for module, (inputs, target, features) in ((layer, batch), (twin, on_gpu)):
        rows = inputs.clone().requires_grad_()
        log_probs, loss = module(rows, target, features)
        loss.backward()
        grads = [table.grad.to_dense() for table in module.parameters()]
        greedy = module.predict(inputs, "greedy", features)
        assert module.sample(inputs, features).device == inputs.device
        results.append([log_probs, rows.grad, *grads, *module.topk(inputs, 5, features), greedy])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs.cpu())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        log_probs, _ = twin(on_gpu[0].bfloat16(), *on_gpu[1:])
    assert log_probs.dtype == torch.float64
