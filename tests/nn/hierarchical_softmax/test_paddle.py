"""Losses against those of ``paddle.nn.HSigmoidLoss``, computed once by PaddlePaddle 3.3.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import SoftmaxTree, complete_tree, huffman_tree
from tests.oracles.trees import path_table_and_code

# Of the seven rows and classes below: without path_table, and with that of a Huffman tree.
COMPLETE = [1.5419109, 5.3750734, 2.1714957, 1.4590851, 2.1811738, 1.1207436, 4.1281967]
HUFFMAN = [3.1199608, 2.4494791, 5.6179457, 3.8163662, 3.9774892, 10.0496120, 2.4482832]


@pytest.mark.parametrize(
    ("tree", "losses"),
    [
        (complete_tree(7), COMPLETE),
        (huffman_tree(np.array([9, 1, 4, 1, 30, 2, 2])), HUFFMAN),
    ],
    ids=["complete", "huffman"],
)
def test_losses_equal_those_of_paddle(tree: SoftmaxTree, losses: Any) -> None:
    rng = np.random.default_rng(0)
    weight, bias, rows = (
        rng.normal(size=shape).astype(np.float32) for shape in ((6, 3), (6, 1), (7, 3))
    )
    layer = HierarchicalSoftmax(tree, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias[:, 0]))
        log_probs, _ = layer(torch.from_numpy(rows), torch.arange(7))
    table, _ = path_table_and_code(tree)
    # Paddle also counts the nodes that shorter paths lack, each with the loss of a score of 0.
    absent = np.log(2.0) * (table < 0).sum(axis=1)
    assert -log_probs.numpy() + absent == pytest.approx(losses, rel=1e-6, abs=1e-6)
