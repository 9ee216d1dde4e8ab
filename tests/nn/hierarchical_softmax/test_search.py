"""Exact and greedy search, and samples, by compiled kernels and by plain torch."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._tree_torch import all_log_probs, all_scores
from sklearn_hashnlp.trees import complete_tree

from ...oracles import hierarchical_softmax as oracle
from ...random_trees import TREES
from ..tree_layers import MIXED, batch_for, make, plain_torch


@given(
    tree=TREES, n_direct=st.sampled_from([0, 50]), fraction=st.floats(0, 1), seed=st.integers(0, 9)
)
def test_topk_is_that_of_all_log_probabilities(tree, n_direct, fraction, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, _, features = batch_for(layer, 5, seed)
    k = max(round(fraction * tree.n_classes), 1)
    expected = layer.log_prob(inputs, features).topk(k, dim=1)
    log_probs, classes = layer.topk(inputs, k, features)
    torch.testing.assert_close(log_probs, expected.values, rtol=1e-10, atol=1e-12)
    assert torch.equal(classes, expected.indices)
    assert torch.equal(layer.predict(inputs, features=features), expected.indices[:, 0])
    assert not log_probs.requires_grad


@pytest.mark.parametrize("n_direct", [0, 9])
def test_plain_searches_compute_the_scores_of_a_few_rows_at_a_time(n_direct, monkeypatch):
    module = "sklearn_hashnlp.nn._hierarchical_softmax."
    layer = make(MIXED, n_direct=n_direct)
    inputs, _, features = batch_for(layer, 11)
    expected = layer.topk(inputs, 3, features)[1], layer.predict(inputs, "greedy", features)
    monkeypatch.setattr(module + "_BLOCK", 3 * layer.n_classes)
    n_rows = []

    def recording(function):
        return lambda *arguments: n_rows.append(len(arguments[2])) or function(*arguments)

    for name, function in (("all_scores", all_scores), ("all_log_probs", all_log_probs)):
        monkeypatch.setattr(module + name, recording(function))
    with plain_torch():
        assert torch.equal(layer.topk(inputs, 3, features)[1], expected[0])
        assert torch.equal(layer.predict(inputs, "greedy", features), expected[1])
        assert layer.sample(inputs, features).shape == (11,)
    assert n_rows == [3, 3, 3, 2] * 3


@pytest.mark.parametrize("n_classes", [1, 2, 8, 13, 10_000])
def test_greedy_search_is_the_decoder_of_the_reference_implementation(n_classes):
    layer = make(complete_tree(n_classes), dtype=torch.float32)
    inputs, _, _ = batch_for(layer, 50)
    probabilities = layer.node_prob(inputs)
    assert probabilities.shape == (50, n_classes - 1)
    expected = [oracle.reference_decoder(row, n_classes) for row in probabilities.tolist()]
    assert layer.predict(inputs, search="greedy").tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_probability_of_one_half_goes_left(n_classes):
    layer = make(complete_tree(n_classes), dtype=torch.float32, scale=0.0)
    with torch.no_grad():
        layer.bias.fill_(1e-9)  # whose sigmoid is 0.5 in single precision
    inputs = torch.ones(1, 3)
    assert (layer.node_prob(inputs) == 0.5).all()
    expected = oracle.reference_decoder([0.5] * (n_classes - 1), n_classes)
    assert layer.predict(inputs, search="greedy").tolist() == [expected]


@given(tree=TREES, n_direct=st.sampled_from([0, 50]), seed=st.integers(0, 9))
def test_greedy_search_follows_the_most_probable_child(tree, n_direct, seed):
    layer = make(tree, n_direct=n_direct, seed=seed)
    inputs, _, features = batch_for(layer, 6, seed)
    probabilities = layer.log_prob(inputs, features).exp().tolist()
    expected = [oracle.greedy_class(tree.to_nested(), row) for row in probabilities]
    assert layer.predict(inputs, "greedy", features).tolist() == expected
    with plain_torch():
        assert layer.predict(inputs, "greedy", features).tolist() == expected


@pytest.mark.parametrize("backend", [nullcontext, plain_torch])
@pytest.mark.parametrize("n_direct", [0, 50])
def test_samples_follow_the_probabilities_and_repeat(n_direct, backend):
    layer = make(MIXED, n_direct=n_direct)
    inputs, _, features = batch_for(layer, 2)
    inputs = inputs[1:].expand(20_000, 3)
    features = None if features is None else features[1:].expand(20_000, 2)

    def sample(seed):
        with backend():
            return layer.sample(inputs, features, generator=torch.Generator().manual_seed(seed))

    classes = sample(1)
    assert torch.equal(classes, sample(1))
    assert not torch.equal(classes, sample(2))
    frequencies = torch.bincount(classes, minlength=7) / 20_000
    expected = layer.log_prob(inputs[:1], None if features is None else features[:1]).exp()[0]
    assert (frequencies - expected).abs().max() < 0.015


def test_samples_without_a_generator_come_from_torch():
    layer = make(complete_tree(50))
    inputs, _, _ = batch_for(layer, 30)
    torch.manual_seed(3)
    first = layer.sample(inputs)
    torch.manual_seed(3)
    assert torch.equal(first, layer.sample(inputs))
    assert first.unique().numel() > 3
