"""The head: what layers it has and how its last one starts."""

from __future__ import annotations

import torch
from torch import nn

from sklearn_hashnlp.nn._mlp import make_head


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
