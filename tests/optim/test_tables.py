"""Sparse and dense gradients of one table, and tables without columns."""

from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.nn import (
    HierarchicalSoftmax,
)
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.trees import complete_tree

TREE = complete_tree(9)


@pytest.mark.parametrize(("optimizer", "lr"), [(RowwiseAdagrad, 0.1), (RowwiseAdam, 0.1), (RowwiseSGD, 1.0)])
def test_an_optimizer_takes_sparse_and_dense_gradients_of_one_table_in_turn(optimizer, lr):
    torch.manual_seed(0)
    layer, inputs, target = HierarchicalSoftmax(TREE, 4, sparse=True), torch.randn(8, 4), torch.randint(0, 9, (8,))
    steps = optimizer(layer.parameters(), lr=lr)
    losses = []
    for turn in range(20):
        steps.zero_grad()
        log_probs = layer.log_prob(inputs)
        dense = torch.nn.functional.nll_loss(log_probs, target)
        loss = dense if turn % 2 else layer(inputs, target).loss
        loss.backward()
        assert layer.weight.grad.is_sparse is not bool(turn % 2)
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_an_optimizer_takes_a_table_without_columns(optimizer):
    table = torch.nn.Embedding(5, 0, sparse=True)
    table(torch.tensor([1, 3])).sum().backward()
    optimizer(table.parameters()).step()
    assert table.weight.shape == (5, 0)
