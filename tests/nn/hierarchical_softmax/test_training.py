"""Training: visited nodes, and the same bytes on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam
from sklearn_hashnlp.trees import balanced_tree, huffman_tree, two_level_tree

from ..tree_layers import batch_for, make


@pytest.mark.parametrize("kind", [RowwiseAdagrad, RowwiseAdam])
def test_training_learns_and_updates_visited_nodes_only(kind):
    torch.manual_seed(0)
    layer = make(balanced_tree(64), 8, sparse=True, dtype=torch.float32, scale=0.1)
    before = layer.weight.detach().clone()
    target = torch.arange(200) % 16  # so half of the tree and more is never visited
    inputs = torch.nn.functional.one_hot(target % 8, 8).float()
    optimizer = kind(layer.parameters(), lr=0.5)
    for _ in range(60):
        optimizer.zero_grad()
        layer(inputs, target)[1].backward()
        optimizer.step()
    assert layer(inputs, target)[1] < 1.0  # two classes for each input
    visited = set(np.concatenate([layer.tree.path(c)[0] for c in range(16)]).tolist())
    changed = (layer.weight != before).any(dim=1).nonzero().flatten().tolist()
    assert set(changed) == visited
    assert len(visited) < 63 / 2


@pytest.mark.parametrize("tree", [huffman_tree(range(1, 400)), two_level_tree(400)], ids=["huffman", "two-level"])
def test_the_same_bytes_at_one_thread_and_at_two(tree):
    results, n_threads = [], torch.get_num_threads()
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            layer = make(tree, 128, n_direct=999, sparse=True, dtype=torch.float32)
            inputs, target, features = batch_for(layer, 400)
            inputs.requires_grad_()
            log_probs, loss = layer(inputs, target, features)
            loss.backward()
            grads = [part for table in layer.parameters() for part in (table.grad._indices(), table.grad._values())]
            RowwiseAdagrad(layer.parameters()).step()
            tensors = [log_probs, loss, inputs.grad, *grads, *layer.topk(inputs, 5, features)]
            tensors += [layer.predict(inputs, "greedy", features)]
            tensors += [layer.sample(inputs, features, generator=torch.Generator().manual_seed(1)), *layer.parameters()]
            results.append([part.detach().numpy().tobytes() for part in tensors])
    finally:
        torch.set_num_threads(n_threads)
    assert results[0] == results[1]
