"""States of other optimizers."""

from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
@pytest.mark.parametrize("other", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_the_state_of_another_optimizer_is_refused_when_it_is_loaded(optimizer, other):
    table = torch.nn.Embedding(3, 2)
    optimizers = optimizer(table.parameters()), other(table.parameters())
    table(torch.arange(3)).sum().backward()
    optimizers[1].step()
    if optimizer is other:
        optimizers[0].load_state_dict(optimizers[1].state_dict())
    else:
        with pytest.raises(ValueError, match=rf"^{optimizer.__name__}: the state is of another optimizer: .* is "):
            optimizers[0].load_state_dict(optimizers[1].state_dict())
    optimizers[0].step()


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_the_state_of_an_optimizer_of_torch_is_refused(optimizer):
    options = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [0]}
    with pytest.raises(ValueError, match=r"of another optimizer: average_after, steps is missing"):
        optimizer(torch.nn.Embedding(3, 2).parameters()).load_state_dict({"state": {}, "param_groups": [options]})
