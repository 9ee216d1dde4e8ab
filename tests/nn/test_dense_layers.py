"""The network inside SGNNClassifier against numpy, and its dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn._dense_network import DenseLayers

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (9, 24), dtype=np.uint8)
PACKED = np.packbits(BITS, axis=1)


def make(*, packed=False, hidden=(7, 5), **options):
    torch.manual_seed(0)
    layers = DenseLayers(
        24, packed=packed, hidden_sizes=hidden, num_classes=3, **{"dropout": 0.5, "input_dropout": 0.2} | options
    )
    layers.standardize.see(BITS.astype(np.float64))
    return layers


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.float32])
def test_scores_by_hand(hidden, dtype):
    layers = make(hidden=hidden).eval()
    out = (BITS - BITS.mean(axis=0)) / np.sqrt(BITS.var(axis=0).mean())
    linear = [layer for layer in layers.head if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in linear] == [*hidden, 3]
    for place, layer in enumerate(linear):
        out = out @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        if place + 1 < len(linear):
            out = np.maximum(out, 0)
    found = layers(torch.from_numpy(BITS.astype(dtype)))
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.detach().numpy(), out, atol=1e-5)


def test_packed_rows_are_their_bits():
    packed, plain = make(packed=True).eval(), make().eval()
    assert torch.equal(packed.widen(torch.from_numpy(PACKED)), torch.from_numpy(BITS).float())
    assert torch.equal(packed(torch.from_numpy(PACKED)), plain(torch.from_numpy(BITS)))


def test_in_double_everything_is():
    scores = make().double().eval()(torch.from_numpy(BITS))
    assert scores.dtype == torch.float64
    np.testing.assert_allclose(scores.detach().numpy(), make().eval()(torch.from_numpy(BITS)).detach(), atol=1e-6)


def test_dropout_draws_from_its_seed_and_from_nobody_else():
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


def test_each_dropout_has_draws_of_its_own():
    layers = DenseLayers(50, packed=False, hidden_sizes=[50], num_classes=2, dropout=0.5, input_dropout=0.5).train()
    first, second = layers.head[0], layers.head[3]
    with layers.seeded(0):
        assert first(torch.ones(1, 50)).tolist() != second(torch.ones(1, 50)).tolist()


@pytest.mark.parametrize(("option", "place"), [("input_dropout", 0), ("dropout", 3)])
def test_which_dropout_is_which(option, place):
    layers = make(**{"dropout": 0.0, "input_dropout": 0.0, option: 0.25})
    assert [layer.p for layer in layers.head if hasattr(layer, "p")] == [
        0.25 if place == 0 else 0.0,
        *[0.25 if place == 3 else 0.0] * 2,
    ]
