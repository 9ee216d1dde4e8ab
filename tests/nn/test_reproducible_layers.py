"""Layers: rows that are the same bytes in any batch, and dropout from a given generator."""

import numpy as np
import pytest
import torch
from torch import nn

from sklearn_hashnlp.nn._layers import SeededDropout, SteadyLinear
from sklearn_hashnlp.training._torch_scope import one_torch_thread

ROWS = torch.randn(50, 256, generator=torch.Generator().manual_seed(0))


def layers(**options):
    plain = nn.Linear(256, 250, **options)
    return plain, SteadyLinear(plain)


def differing(layer):
    """Count the rows whose output differs alone and in the batch."""
    with one_torch_thread(), torch.inference_mode():
        together = layer(ROWS)
        return sum(
            not torch.equal(layer(ROWS[at : at + 1]), together[at : at + 1])
            for at in range(len(ROWS))
        )


def test_steady_rows_are_the_same_in_any_batch():
    for bias in (True, False):
        plain, steady = layers(bias=bias)
        steady.eval()
        assert differing(steady) == 0
        torch.testing.assert_close(steady(ROWS), plain(ROWS))
        assert steady(ROWS).dtype == torch.float32


def test_steady_training_is_the_layers_own():
    plain, steady = layers()
    assert steady.weight is plain.weight
    assert list(steady.state_dict()) == ["weight", "bias"]
    assert torch.equal(steady(ROWS), plain(ROWS))
    state = torch.get_rng_state()
    SteadyLinear(plain)
    assert torch.equal(torch.get_rng_state(), state)  # draws nothing


def seeded(p, kind="numpy"):
    dropout = SeededDropout(p)
    dropout.generator = (
        np.random.default_rng(3) if kind == "numpy" else torch.Generator().manual_seed(3)
    )
    return dropout


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_has_its_probability(p, kind):
    out = seeded(p, kind)(torch.ones(200, 100))
    assert abs((out == 0).double().mean() - p) < 0.01
    torch.testing.assert_close(out.unique(), torch.tensor([0.0, 1 / (1 - p)]))
    assert abs(out.mean() - 1) < 0.05


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_dropout_depends_on_its_generator_alone(kind):
    before = torch.get_rng_state()
    first, second = seeded(0.5, kind)(torch.ones(100)), seeded(0.5, kind)(torch.ones(100))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_without_a_generator_is_torchs():
    torch.manual_seed(0)
    first = SeededDropout(0.5)(torch.ones(100))
    torch.manual_seed(0)
    assert torch.equal(first, torch.nn.Dropout(0.5)(torch.ones(100)))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_dropout_of_nothing_of_all_and_in_evaluation(kind):
    x = torch.randn(5)
    assert torch.equal(seeded(0.0, kind)(x), x)
    assert not seeded(1.0, kind)(x).any()
    assert seeded(0.5, kind).eval()(x) is x


@pytest.mark.parametrize("p", [float("nan"), -0.1, 1.5])
def test_dropout_of_no_probability_is_refused(p):
    with pytest.raises(ValueError, match=r"dropout|p must be a number from 0 to 1"):
        SeededDropout(p)
