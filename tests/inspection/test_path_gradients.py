"""Integrated gradients: against a sum over many small steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sklearn_hashnlp.inspection._path_gradients import integrated_gradients


def relu_network() -> Callable[[Tensor], Tensor]:
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 10), nn.ReLU(), nn.Linear(10, 2)
    )
    return network.double()


FUNCTIONS = {
    "linear": lambda x: (
        x @ torch.tensor([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]], dtype=torch.float64) + 1
    ),
    "smooth": lambda x: torch.log_softmax(
        torch.stack([x.sum(1), x[:, 0] ** 3, x[:, 1] * x[:, 2]], dim=1), dim=1
    ),
    "kinks": relu_network(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mean_gradients(name: str) -> None:
    function, end = FUNCTIONS[name], torch.tensor([1.5, -2.0, 0.7], dtype=torch.float64)
    gradients, start = integrated_gradients(function, end)
    change = (function(end[None]) - function(torch.zeros_like(end)[None])).detach().numpy()[0]
    np.testing.assert_allclose(start, function(torch.zeros_like(end)[None]).detach().numpy()[0])
    np.testing.assert_allclose(gradients @ end.numpy(), change, atol=1e-7)
    for output in range(len(start)):
        points = (((torch.arange(4000) + 0.5) / 4000).double()[:, None] * end).requires_grad_(True)
        function(points)[:, output].sum().backward()
        np.testing.assert_allclose(gradients[output], points.grad.mean(dim=0).numpy(), atol=5e-3)


def test_a_path_of_no_length() -> None:
    gradients, start = integrated_gradients(FUNCTIONS["kinks"], torch.zeros(3, dtype=torch.float64))
    assert np.isfinite(gradients).all()
    assert start.shape == (2,)
