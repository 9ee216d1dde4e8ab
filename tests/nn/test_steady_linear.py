from __future__ import annotations

import torch
from torch import nn

from sklearn_hashnlp.nn._reproducible_layers import SteadyLinear
from sklearn_hashnlp.training._torch_scope import one_torch_thread

ROWS = torch.randn(50, 256, generator=torch.Generator().manual_seed(0))


def layers(**options):
    plain = nn.Linear(256, 250, **options)
    return plain, SteadyLinear(plain)


def differing(layer):
    """Count the rows that come out differently alone and in company."""
    with one_torch_thread(), torch.inference_mode():
        together = layer(ROWS)
        return sum(not torch.equal(layer(ROWS[at : at + 1]), together[at : at + 1]) for at in range(len(ROWS)))


def test_a_row_is_the_same_in_any_company():
    for bias in (True, False):
        plain, steady = layers(bias=bias)
        steady.eval()
        assert differing(steady) == 0
        torch.testing.assert_close(steady(ROWS), plain(ROWS))
        assert steady(ROWS).dtype == torch.float32


def test_it_trains_as_the_layer_does():
    plain, steady = layers()
    assert steady.weight is plain.weight
    assert list(steady.state_dict()) == ["weight", "bias"]
    assert torch.equal(steady(ROWS), plain(ROWS))
    state = torch.get_rng_state()
    SteadyLinear(plain)
    assert torch.equal(torch.get_rng_state(), state)  # draws nothing
