"""The dense network against numpy, its dropout and standardization; heads over documents of hash
embeddings.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sklearn_hashnlp.nn._hash_embedding_network import ScoreHead, TreeHead
from sklearn_hashnlp.nn._layers import DenseNetwork, Standardize
from sklearn_hashnlp.trees import balanced_tree, two_level_tree

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (9, 24), dtype=np.uint8)
PACKED = np.packbits(BITS, axis=1)


def make(*, packed=False, hidden=(7, 5), **options):
    torch.manual_seed(0)
    layers = DenseNetwork(
        24,
        packed=packed,
        hidden_sizes=hidden,
        num_classes=3,
        **{"dropout": 0.5, "input_dropout": 0.2} | options,
    )
    layers.standardize.update(BITS.astype(np.float64))
    return layers


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.float32])
def test_scores_are_those_of_numpy(hidden, dtype):
    layers = make(hidden=hidden).eval()
    out = (BITS - BITS.mean(axis=0)) / np.sqrt(BITS.var(axis=0).mean())
    linear = [layer for layer in layers.head if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in linear] == [*hidden, 3]
    for index, layer in enumerate(linear):
        out = out @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        if index + 1 < len(linear):
            out = np.maximum(out, 0)
    scores = layers(torch.from_numpy(BITS.astype(dtype)))
    assert scores.dtype == torch.float32
    np.testing.assert_allclose(scores.detach().numpy(), out, atol=1e-5)


def test_input_dropout_is_the_first():
    assert [layer.p for layer in make().head if hasattr(layer, "p")] == [0.2, 0.5, 0.5]


def test_packed_rows_are_unpacked():
    packed, plain = make(packed=True).eval(), make().eval()
    assert torch.equal(packed.unpack(torch.from_numpy(PACKED)), torch.from_numpy(BITS).float())
    assert torch.equal(packed(torch.from_numpy(PACKED)), plain(torch.from_numpy(BITS)))


def test_dropout_depends_on_its_seed_alone():
    layers, rows = make().train(), torch.from_numpy(BITS)

    def draw(seed):
        with layers.seeded(seed):
            return layers(rows).tolist()

    before = torch.random.get_rng_state()
    assert draw(0) == draw(0) != draw(1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(getattr(layer, "generator", None) is None for layer in layers.head)
    with pytest.raises(RuntimeError), layers.seeded(0):
        raise RuntimeError
    assert all(getattr(layer, "generator", None) is None for layer in layers.head)


def test_each_dropout_layer_has_its_own_draws():
    layers = DenseNetwork(
        50, packed=False, hidden_sizes=[50], num_classes=2, dropout=0.5, input_dropout=0.5
    ).train()
    first, second = layers.head[0], layers.head[3]
    with layers.seeded(0):
        assert first(torch.ones(1, 50)).tolist() != second(torch.ones(1, 50)).tolist()


def standardize_by(*parts):
    standardize = Standardize(parts[0].shape[1])
    for part in parts:
        standardize.update(part)
    return standardize


@given(
    n_rows=st.integers(1, 30),
    n_columns=st.integers(1, 5),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    offset=st.sampled_from([0.0, 1.0, -1e3]),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_updates_with_parts_are_an_update_with_all_rows(n_rows, n_columns, cuts, offset, size):
    rows = offset + size * np.random.default_rng(n_rows).normal(size=(n_rows, n_columns))
    parts = [
        part for part in np.split(rows, sorted(cut for cut in cuts if cut < n_rows)) if len(part)
    ]
    standardize = standardize_by(*parts)
    np.testing.assert_allclose(
        standardize.mean.numpy(), rows.mean(axis=0), rtol=1e-9, atol=1e-9 * size
    )
    expected = np.sqrt(rows.var(axis=0).mean()) or 1.0
    np.testing.assert_allclose(float(standardize.scale), expected, rtol=1e-6)


def test_a_rare_bit_does_not_become_large():
    bits = np.zeros((1000, 50))
    bits[:, :49] = RNG.integers(0, 2, (1000, 49))
    bits[0, 49] = 1
    # by its own deviation it would be 31
    assert standardize_by(bits)(torch.from_numpy(bits[:1]))[0, 49] < 3


@pytest.mark.parametrize(
    "rows", [np.ones((1, 3)), np.full((7, 3), 0.7), np.full((9, 2), 1e30), np.zeros((4, 2))]
)
def test_rows_without_variance_are_not_scaled(rows):
    standardize = standardize_by(rows)
    assert float(standardize.scale) == 1
    twice = standardize(torch.from_numpy(2 * rows[:1]))
    np.testing.assert_allclose(twice.numpy(), rows[:1], rtol=1e-12)


def test_before_the_first_update_rows_are_unchanged():
    assert Standardize(2)(torch.tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0]]


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
    torch.testing.assert_close(
        double.scores(DOCUMENTS.double()).float(), head.eval().scores(DOCUMENTS)
    )


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
