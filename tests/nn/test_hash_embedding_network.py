"""Hidden layers, heads, and how a tree's weights are initialized."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._hash_embedding_network import ScoreHead, TreeHead, make_head
from sklearn_hashnlp.trees import balanced_tree, two_level_tree

DOCUMENTS = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("hidden", [[], [7, 5]])
def test_a_score_head_is_called_for_its_scores(hidden):
    head = ScoreHead(9, hidden, 4).eval()
    assert torch.equal(head.scores(DOCUMENTS), head(DOCUMENTS))
    assert next(iter(head.state_dict())) == "0.weight"


@pytest.mark.parametrize("hidden", [[], [7, 5]])
@pytest.mark.parametrize("tree", [balanced_tree(11), two_level_tree(11)])
def test_a_tree_head_is_called_for_what_the_tree_reads(hidden, tree):
    head = TreeHead(9, hidden, tree).eval()
    read = head(DOCUMENTS)
    assert torch.equal(read, nn.Sequential(*list(head)[:-1])(DOCUMENTS))
    assert torch.equal(head.scores(DOCUMENTS), head.softmax.log_prob(read))
    torch.testing.assert_close(head.scores(DOCUMENTS).exp().sum(dim=1), torch.ones(6))


def test_a_copy_in_double_shares_the_tree_and_nothing_else():
    head = TreeHead(9, [7], balanced_tree(11))
    double = head.in_double()
    assert double.softmax.tree is head.softmax.tree
    assert {parameter.dtype for parameter in double.parameters()} == {torch.float64}
    assert not double.training
    assert {parameter.dtype for parameter in head.parameters()} == {torch.float32}
    assert head.training
    torch.testing.assert_close(double.scores(DOCUMENTS.double()).float(), head.eval().scores(DOCUMENTS))


def test_decisions_start_with_directions_where_documents_start_at_zero():
    torch.manual_seed(0)
    lengths = TreeHead(32, [], balanced_tree(1000)).softmax.weight.detach().norm(dim=1)
    assert 2.9 < lengths.mean() < 3.1
    below = TreeHead(32, [32], balanced_tree(1000)).softmax.weight.detach()
    assert below.norm(dim=1).mean() < 0.1  # a hidden layer gives documents that are not zero


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
