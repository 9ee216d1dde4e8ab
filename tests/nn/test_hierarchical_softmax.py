"""The layer against a slow walk down the tree in plain Python, and against itself on its other ways."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.nn._compiled_tree import CompiledPaths
from sklearn_hashnlp.nn._tree_torch import all_log_probs, all_scores
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam
from sklearn_hashnlp.trees import (
    balanced_tree,
    cluster_tree,
    complete_tree,
    huffman_tree,
    random_tree,
    tree_from_nested,
    two_level_tree,
)

from ..oracles import hierarchical_softmax as oracle
from ..random_trees import TREES, chain, random_shape

MIXED = tree_from_nested([[0, [1, 2, 3]], 4, [5, 6]])


def make(tree, in_features=3, *, scale=1.0, seed=0, **options):
    torch.manual_seed(seed)
    layer = HierarchicalSoftmax(tree, in_features, **({"dtype": torch.float64} | options))
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=scale)
    return layer


def batch_for(layer, n_rows, seed=0, n_features=2):
    """Give inputs, targets and features; of these some are absent, and of one row all."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n_rows, layer.in_features, generator=generator, dtype=torch.float64).to(layer.weight.dtype)
    target = torch.randint(0, layer.n_classes, (n_rows,), generator=generator)
    if not layer.n_direct:
        return inputs, target, None
    features = torch.randint(-(2**61), 2**62, (n_rows, n_features), generator=generator)
    features[:1] = -1
    return inputs, target, features


@given(tree=TREES, n_direct=st.sampled_from([0, 1, 50]), seed=st.integers(0, 9))
def test_log_probabilities_are_those_of_the_paths(tree, n_direct, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, target, features = batch_for(layer, 4, seed)
    lists = [[]] * 4 if features is None else features.tolist()
    expected = torch.tensor(
        [oracle.log_probs(layer, row, own) for row, own in zip(inputs.tolist(), lists, strict=True)],
        dtype=torch.float64,
    )
    torch.testing.assert_close(layer.log_prob(inputs, features), expected, rtol=1e-9, atol=1e-10)
    log_probs, loss = layer(inputs, target, features)
    torch.testing.assert_close(log_probs, expected.gather(1, target[:, None])[:, 0], rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(loss, -log_probs.mean())


@pytest.mark.parametrize("n_direct", [0, 1000])
@pytest.mark.parametrize(
    "tree",
    [
        complete_tree(2),
        complete_tree(1000),
        huffman_tree(range(1, 1001)),
        two_level_tree(1000),
        random_shape(1000, 40, seed=0),
        chain(300),
    ],
    ids=["two", "complete", "huffman", "two-level", "mixed", "chain"],
)
def test_probabilities_sum_to_one(tree, n_direct):
    layer = make(tree, 16, dtype=torch.float32, n_direct=n_direct)
    inputs, _, features = batch_for(layer, 20)
    torch.testing.assert_close(layer.log_prob(inputs, features).exp().sum(1), torch.ones(20), rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "builder",
    [
        complete_tree,
        huffman_tree,
        two_level_tree,
        lambda counts: balanced_tree(counts, 5),
        lambda counts: random_tree(counts, random_state=0),
        lambda counts: cluster_tree(counts, np.sqrt(counts)[:, None], n_direct=100, leaf_size=9, random_state=0),
    ],
    ids=["complete", "huffman", "two-level", "balanced", "random", "cluster"],
)
def test_probabilities_of_a_hundred_thousand_classes_sum_to_one_and_the_best_are_found(builder):
    tree = builder(10**6 // np.arange(1, 10**5 + 1))
    layer = make(tree, 8, dtype=torch.float32)
    inputs, target, _ = batch_for(layer, 4)
    with torch.no_grad():
        everything = layer.log_prob(inputs)
        torch.testing.assert_close(everything.exp().sum(1), torch.ones(4), rtol=1e-5, atol=0)
        torch.testing.assert_close(layer(inputs, target)[0], everything.gather(1, target[:, None])[:, 0])
    torch.testing.assert_close(layer.topk(inputs, 10)[0], everything.topk(10, dim=1).values)


def test_rows_are_independent_of_the_blocks_they_come_in(monkeypatch):
    layer = make(MIXED, n_direct=9)
    inputs, _, features = batch_for(layer, 11)
    expected = layer.log_prob(inputs, features)
    monkeypatch.setattr("sklearn_hashnlp.nn._hierarchical_softmax._BLOCK", 3 * layer.n_classes)
    with torch.no_grad():
        torch.testing.assert_close(layer.log_prob(inputs, features), expected.detach(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("n_direct", [0, 9])
def test_plain_searches_hold_the_scores_of_a_few_rows_at_a_time(n_direct, monkeypatch):
    module = "sklearn_hashnlp.nn._hierarchical_softmax."
    layer = make(MIXED, n_direct=n_direct)
    inputs, _, features = batch_for(layer, 11)
    expected = layer.topk(inputs, 3, features)[1], layer.predict(inputs, "greedy", features)
    monkeypatch.setattr(module + "_BLOCK", 3 * layer.n_classes)
    n_rows = []

    def recording(way):
        return lambda *arguments: n_rows.append(len(arguments[2])) or way(*arguments)

    for name, way in (("all_scores", all_scores), ("all_log_probs", all_log_probs)):
        monkeypatch.setattr(module + name, recording(way))
    with _never_compiled():
        assert torch.equal(layer.topk(inputs, 3, features)[1], expected[0])
        assert torch.equal(layer.predict(inputs, "greedy", features), expected[1])
        assert layer.sample(inputs, features).shape == (11,)
    assert n_rows == [3, 3, 3, 2] * 3


@given(tree=TREES, n_direct=st.sampled_from([0, 50]), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_topk_is_brute_force(tree, n_direct, share, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, _, features = batch_for(layer, 5, seed)
    k = max(round(share * tree.n_classes), 1)
    expected = layer.log_prob(inputs, features).topk(k, dim=1)
    log_probs, classes = layer.topk(inputs, k, features)
    torch.testing.assert_close(log_probs, expected.values, rtol=1e-10, atol=1e-12)
    assert torch.equal(classes, expected.indices)
    assert torch.equal(layer.predict(inputs, features=features), expected.indices[:, 0])
    assert not log_probs.requires_grad


def decode_of_the_source(probabilities, n_classes):
    """Walk down the complete tree, right where a probability is above 0.5: the source's decoder, for one row."""
    node, code = 0, 1
    while node < len(probabilities):
        right = probabilities[node] > 0.5
        code = 2 * code + right
        node = 2 * node + 1 + right
    return code - n_classes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 8, 10, 13, 10_000])
def test_greedy_search_is_the_decoder_of_the_source(n_classes, dtype):
    layer = make(complete_tree(n_classes), dtype=dtype)
    inputs, _, _ = batch_for(layer, 50)
    probabilities = layer.node_prob(inputs)
    assert probabilities.shape == (50, n_classes - 1)
    expected = [decode_of_the_source(row, n_classes) for row in probabilities.tolist()]
    assert layer.predict(inputs, search="greedy").tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_decision_at_one_half_goes_left(n_classes):
    layer = make(complete_tree(n_classes), dtype=torch.float32, scale=0.0)
    with torch.no_grad():
        layer.bias.fill_(1e-9)  # whose sigmoid is 0.5 in single precision
    inputs = torch.ones(1, 3)
    assert (layer.node_prob(inputs) == 0.5).all()
    expected = decode_of_the_source([0.5] * (n_classes - 1), n_classes)
    assert layer.predict(inputs, search="greedy").tolist() == [expected]


@given(tree=TREES, n_direct=st.sampled_from([0, 50]), seed=st.integers(0, 9))
def test_greedy_search_takes_the_better_child_on_both_ways(tree, n_direct, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, _, features = batch_for(layer, 6, seed)
    everything, expected = layer.log_prob(inputs, features).exp(), []
    for row in everything.tolist():
        nested = tree.to_nested()
        while isinstance(nested, list):
            nested = max(nested, key=lambda part: sum(row[c] for c in _classes(part)))
        expected.append(nested)
    assert layer.predict(inputs, "greedy", features).tolist() == expected
    with _never_compiled():
        assert layer.predict(inputs, "greedy", features).tolist() == expected


def _classes(nested):
    return [nested] if isinstance(nested, int) else [leaf for part in nested for leaf in _classes(part)]


class _never_compiled:  # noqa: N801 - reads as a statement
    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("sklearn_hashnlp.nn._hierarchical_softmax.runs_compiled", lambda *_: False)

    def __exit__(self, *_):
        self.patch.undo()


@pytest.mark.parametrize("way", ["compiled", "plain"])
@pytest.mark.parametrize("n_direct", [0, 50])
def test_draws_follow_the_probabilities_and_repeat(n_direct, way):
    layer = make(MIXED, n_direct=n_direct)
    inputs, _, features = batch_for(layer, 2)
    inputs = inputs[1:].expand(20_000, 3)
    features = None if features is None else features[1:].expand(20_000, 2)

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        if way == "compiled":
            return layer.sample(inputs, features, generator=generator)
        with _never_compiled():
            return layer.sample(inputs, features, generator=generator)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    shares = torch.bincount(draw(1), minlength=7) / 20_000
    expected = layer.log_prob(inputs[:1], None if features is None else features[:1]).exp()[0]
    assert (shares - expected).abs().max() < 0.015


def test_draws_without_a_generator_come_from_torch():
    layer = make(complete_tree(50))
    inputs, _, _ = batch_for(layer, 30)
    torch.manual_seed(3)
    first = layer.sample(inputs)
    torch.manual_seed(3)
    assert torch.equal(first, layer.sample(inputs))
    assert first.unique().numel() > 3


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_direct", [0, 7])
def test_a_single_class_has_probability_one(n_direct, sparse):
    layer = make(complete_tree(1), n_direct=n_direct, sparse=sparse)
    inputs, target, features = batch_for(layer, 4)
    inputs.requires_grad_()
    inputs.data[0] = torch.inf  # whatever the layer below says
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


@pytest.mark.parametrize("tree", [complete_tree(1), complete_tree(5), MIXED], ids=["one", "binary", "mixed"])
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
    assert layer.predict(inputs, "greedy", features).shape == layer.sample(inputs, features).shape == (0,)


def test_rows_without_features():
    layer, without = make(MIXED, n_direct=5), make(MIXED)
    inputs, target, _ = batch_for(layer, 6)
    none = torch.empty(6, 0, dtype=torch.int64)
    absent = torch.full((6, 3), -1)
    for features in (none, absent):
        assert torch.equal(layer(inputs, target, features)[0], without(inputs, target)[0])
        torch.testing.assert_close(layer.log_prob(inputs, features), without.log_prob(inputs))
        assert torch.equal(layer.topk(inputs, 3, features)[1], without.topk(inputs, 3)[1])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.uint32])
def test_targets_and_features_of_other_integers(dtype):
    layer = make(MIXED, n_direct=9)
    inputs, target, _ = batch_for(layer, 6)
    features = torch.arange(12).view(6, 2)
    expected = layer(inputs, target, features)[0]
    assert torch.equal(layer(inputs, target.to(dtype), features.to(dtype))[0], expected)


def test_inputs_may_lie_apart_in_memory():
    layer = make(MIXED, n_direct=9)
    inputs, target, features = batch_for(layer, 6)
    apart = (part.repeat_interleave(2, dim=0)[::2] for part in (inputs, target, features))
    assert torch.equal(layer(*apart)[0], layer(inputs, target, features)[0])
    turned = inputs.t().contiguous().t()
    assert torch.equal(layer(turned, target, features)[0], layer(inputs, target, features)[0])
    assert torch.equal(layer.topk(turned, 2, features.t().contiguous().t())[1], layer.topk(inputs, 2, features)[1])


def test_what_does_not_fit_is_named():
    layer, direct = make(complete_tree(7)), make(MIXED, n_direct=9)
    inputs, target, features = batch_for(direct, 6)
    for wrong, found in ((7, "7"), (-1, "-1")):
        with pytest.raises(ValueError, match=f"target must be between 0 and 6, got {found}"):
            layer(inputs, target.clamp(max=6).index_fill(0, torch.tensor([3]), wrong))
    with pytest.raises(ValueError, match=r"target must have shape \(6,\).*got \(5,\)"):
        layer(inputs, target[:5])
    with pytest.raises(TypeError, match=r"target must have an integer dtype, got torch.float32"):
        layer(inputs, target.float())
    for rows in (inputs[:, :2], inputs[0], inputs[None]):
        with pytest.raises(ValueError, match=r"input must have shape \(rows, 3\), got"):
            layer.log_prob(rows)
    with pytest.raises(TypeError, match=r"weight's dtype torch.float64, got torch.float32"):
        layer.topk(inputs.float(), 1)
    with pytest.raises(ValueError, match="are required with n_direct=9"):
        direct(inputs, target)
    with pytest.raises(ValueError, match="features must be None without direct connections"):
        layer(inputs, target, features)
    with pytest.raises(ValueError, match=r"features must have shape \(6, n_features\).*got \(5, 2\)"):
        direct.predict(inputs, features=features[:5])
    with pytest.raises(TypeError, match=r"features must have an integer dtype, got torch.float64"):
        direct.sample(inputs, features.double())
    for k in (0, 8):
        with pytest.raises(ValueError, match=f"k must be between 1 and n_classes=7, got {k}"):
            layer.topk(inputs, k)
    with pytest.raises(ValueError, match="search must be 'exact' or 'greedy', got 'beam'"):
        layer.predict(inputs, search="beam")
    with pytest.raises(ValueError, match="but node 0 has 3"):
        direct.node_prob(inputs, features)
    with pytest.raises(TypeError, match="tree must be a SoftmaxTree, got int"):
        HierarchicalSoftmax(7, 3)
    with pytest.raises(ValueError, match="in_features must be 1 or more, got 0"):
        HierarchicalSoftmax(MIXED, 0)
    for n_direct in (-1, 2**31):
        with pytest.raises(ValueError, match=f"n_direct must be between 0 and 2147483647, got {n_direct}"):
            HierarchicalSoftmax(MIXED, 3, n_direct=n_direct)


def test_a_fresh_layer_begins_near_fair_decisions():
    tree = huffman_tree([8, 4, 2, 1, 1])
    layer = HierarchicalSoftmax(tree, 100, n_direct=5)
    assert not layer.bias.any()
    assert not layer.direct.any()
    assert 0 < layer.weight.abs().max() <= 0.01
    shares = layer.log_prob(torch.randn(3, 100), torch.zeros(3, 1, dtype=torch.int64)).exp()
    torch.testing.assert_close(shares, torch.tensor([[8, 4, 2, 1, 1]]).expand(3, 5) / 16, rtol=0.3, atol=0)


@pytest.mark.parametrize("tree", [huffman_tree(range(1, 400)), two_level_tree(400)], ids=["huffman", "two-level"])
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
            grads = [part for table in layer.parameters() for part in (table.grad._indices(), table.grad._values())]
            RowwiseAdagrad(layer.parameters()).step()
            found = [log_probs, loss, inputs.grad, *grads, *layer.topk(inputs, 5, features)]
            found += [layer.predict(inputs, "greedy", features)]
            found += [layer.sample(inputs, features, generator=torch.Generator().manual_seed(1)), *layer.parameters()]
            results.append([part.detach().numpy().tobytes() for part in found])
    finally:
        torch.set_num_threads(n_threads)
    assert results[0] == results[1]


@pytest.mark.parametrize("way", ["compiled", "plain"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_single_precision(dtype, way, monkeypatch):
    if way == "plain":
        monkeypatch.setattr("sklearn_hashnlp.nn._hierarchical_softmax.runs_compiled", lambda *_: False)
    for tree in (complete_tree(9), MIXED):
        layer = make(tree, n_direct=9, dtype=torch.float32)
        below = torch.nn.Linear(4, 3)
        _, target, features = batch_for(layer, 6)
        rows = torch.randn(6, 4)
        expected = layer(below(rows), target, features)[0]
        with torch.autocast("cpu", dtype=dtype):
            hidden = below(rows)
            assert hidden.dtype == dtype
            log_probs, loss = layer(hidden, target, features)
            everything = layer.log_prob(hidden, features)
            assert layer.topk(hidden, 2, features)[0].dtype == torch.float32
            assert layer.predict(hidden, "greedy", features).shape == layer.sample(hidden, features).shape == (6,)
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


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_programs_give_the_same(backend, monkeypatch):
    layer = make(MIXED, n_direct=9)
    inputs, target, features = batch_for(layer, 6)
    inputs.requires_grad_()
    expected = layer(inputs, target, features)[0]
    gradients = torch.autograd.grad(expected.sum(), [inputs, *layer.parameters()])

    def refuse(*arguments):
        raise AssertionError("The compiled way was taken.")

    monkeypatch.setattr(CompiledPaths, "apply", refuse)
    torch.compiler.reset()
    log_probs, _ = torch.compile(layer, backend=backend)(inputs, target, features)
    torch.testing.assert_close(log_probs, expected)
    for ours, theirs in zip(
        torch.autograd.grad(log_probs.sum(), [inputs, *layer.parameters()]), gradients, strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("optimiser", [RowwiseAdagrad, RowwiseAdam])
def test_training_learns_and_leaves_unvisited_nodes_alone(optimiser):
    torch.manual_seed(0)
    layer = make(balanced_tree(64), 8, sparse=True, dtype=torch.float32, scale=0.1)
    before = layer.weight.detach().clone()
    target = torch.arange(200) % 16  # so half of the tree and more is never visited
    inputs = torch.nn.functional.one_hot(target % 8, 8).float()
    optimizer = optimiser(layer.parameters(), lr=0.5)
    for _ in range(60):
        optimizer.zero_grad()
        layer(inputs, target)[1].backward()
        optimizer.step()
    assert layer(inputs, target)[1] < 1.0  # two classes for each input
    visited = set(np.concatenate([layer.tree.path(c)[0] for c in range(16)]).tolist())
    changed = (layer.weight != before).any(dim=1).nonzero().flatten().tolist()
    assert set(changed) == visited
    assert len(visited) < 63 / 2


@pytest.mark.gpu
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("tree", [MIXED, huffman_tree(range(1, 1000)), two_level_tree(1000)])
def test_the_gpu_gives_the_same(tree, sparse):
    layer = make(tree, 16, n_direct=99, sparse=sparse)
    twin = copy.deepcopy(layer).cuda()
    batch = batch_for(layer, 64)
    there = [part.cuda() for part in batch]
    results = []
    for module, (inputs, target, features) in ((layer, batch), (twin, there)):
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
        log_probs, _ = twin(there[0].bfloat16(), *there[1:])
    assert log_probs.dtype == torch.float64
