"""Row-wise SGD against torch's own."""

from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.optim import RowwiseAdam, RowwiseSGD

pytestmark = pytest.mark.usefixtures("_each_backend")


@pytest.mark.parametrize("sparse", [True, False])
def test_the_weights_are_those_of_torch(sparse):
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(6, 3, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizers = RowwiseSGD([ours], lr=0.2), torch.optim.SGD([theirs], lr=0.2)
    for _ in range(5):
        rows = torch.randint(0, 5, (4,))  # some twice, the last never
        gradient = torch.sparse_coo_tensor(
            rows[None], torch.randn(4, 3, dtype=torch.float64), (6, 3), check_invariants=True
        )
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient if sparse else gradient.to_dense()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    if sparse:
        assert optimizers[0].state[ours]["steps"][-1] == 0


@pytest.mark.parametrize(
    ("kind", "theirs", "options"),
    [(RowwiseSGD, torch.optim.SGD, {"lr": 0.3}), (RowwiseAdam, torch.optim.AdamW, {"lr": 0.3, "eps": 1e-3})],
)
def test_weight_decay_of_dense_gradients_is_that_of_torch(kind, theirs, options):
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.ones(3, 4, dtype=torch.float64)) for _ in range(2)]
    optimizers = [make([w], weight_decay=0.1, **options) for make, w in zip((kind, theirs), parameters, strict=True)]
    for _ in range(5):
        gradient = torch.randn(3, 4, dtype=torch.float64)
        for parameter, optimizer in zip(parameters, optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(*parameters, rtol=1e-11, atol=1e-12)
