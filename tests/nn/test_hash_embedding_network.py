"""Hidden layers, heads, and how a tree's weights are initialized."""

import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._hash_embedding_network import ScoreHead, TreeHead
from sklearn_hashnlp.trees import balanced_tree, two_level_tree

DOCUMENTS = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("hidden", [[], [7, 5]])
def test_a_score_head_computes_scores(hidden):
    head = ScoreHead(9, hidden, 4).eval()
    assert torch.equal(head.scores(DOCUMENTS), head(DOCUMENTS))
    assert next(iter(head.state_dict())) == "0.weight"


@pytest.mark.parametrize("hidden", [[], [7, 5]])
@pytest.mark.parametrize("tree", [balanced_tree(11), two_level_tree(11)])
def test_a_tree_head_computes_the_input_of_its_softmax(hidden, tree):
    head = TreeHead(9, hidden, tree).eval()
    hidden_layer = head(DOCUMENTS)
    assert torch.equal(hidden_layer, nn.Sequential(*list(head)[:-1])(DOCUMENTS))
    assert torch.equal(head.scores(DOCUMENTS), head.softmax.log_prob(hidden_layer))
    torch.testing.assert_close(head.scores(DOCUMENTS).exp().sum(dim=1), torch.ones(6))


def test_a_copy_in_float64_shares_the_tree_only():
    head = TreeHead(9, [7], balanced_tree(11))
    double = head.in_double()
    assert double.softmax.tree is head.softmax.tree
    assert {parameter.dtype for parameter in double.parameters()} == {torch.float64}
    assert not double.training
    assert {parameter.dtype for parameter in head.parameters()} == {torch.float32}
    assert head.training
    torch.testing.assert_close(double.scores(DOCUMENTS.double()).float(), head.eval().scores(DOCUMENTS))


def test_initial_weights_of_a_tree_are_long_without_hidden_layers():
    torch.manual_seed(0)
    lengths = TreeHead(32, [], balanced_tree(1000)).softmax.weight.detach().norm(dim=1)
    assert 2.9 < lengths.mean() < 3.1
    below = TreeHead(32, [32], balanced_tree(1000)).softmax.weight.detach()
    assert below.norm(dim=1).mean() < 0.1  # the output of a hidden layer is not zero


def test_the_last_layer_is_initialized_orthogonal_and_without_bias():
    last = ScoreHead(22, [], 4)[0]
    torch.testing.assert_close(last.weight @ last.weight.T, torch.eye(4), atol=1e-5, rtol=0)
    assert not last.bias.any()
