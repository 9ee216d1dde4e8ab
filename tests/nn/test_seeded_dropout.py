from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn._reproducible_layers import SeededDropout


def seeded(p: float, kind: str = "numpy") -> SeededDropout:
    dropout = SeededDropout(p)
    dropout.generator = np.random.default_rng(3) if kind == "numpy" else torch.Generator().manual_seed(3)
    return dropout


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_as_many_are_dropped_as_it_says(p, kind):
    out = seeded(p, kind)(torch.ones(200, 100))
    assert abs((out == 0).double().mean() - p) < 0.01
    torch.testing.assert_close(out.unique(), torch.tensor([0.0, 1 / (1 - p)]))
    assert abs(out.mean() - 1) < 0.05


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_its_generator_alone_decides(kind):
    before = torch.get_rng_state()
    first, second = seeded(0.5, kind)(torch.ones(100)), seeded(0.5, kind)(torch.ones(100))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_generator_it_is_torchs():
    torch.manual_seed(0)
    first = SeededDropout(0.5)(torch.ones(100))
    torch.manual_seed(0)
    assert torch.equal(first, torch.nn.Dropout(0.5)(torch.ones(100)))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_ends(kind):
    x = torch.randn(5)
    assert torch.equal(seeded(0.0, kind)(x), x)
    assert not seeded(1.0, kind)(x).any()
    assert seeded(0.5, kind).eval()(x) is x


def test_gradients():
    x = torch.ones(50, dtype=torch.float64, requires_grad=True)
    dropout = seeded(0.5)
    out = dropout(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
