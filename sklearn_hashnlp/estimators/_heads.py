"""What stands on a document vector: layers that score classes, or that a tree reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.nn._mlp import make_head, make_hidden_layers
from sklearn_hashnlp.trees import SoftmaxTree

_LENGTH = 3.0  # chosen from 0.06 to 6 on rows held out of 79 languages and on 10,000 made-up labels


class ScoreHead(nn.Sequential):
    """Hidden layers and a linear one, out of which comes a score a class."""

    def __init__(self, in_features: int, hidden_sizes: Sequence[int], n_classes: int) -> None:
        super().__init__(*make_head(in_features, hidden_sizes, n_classes, device="cpu", dtype=torch.float32))

    def in_double(self) -> ScoreHead:
        """Copy the head."""
        return deepcopy(self).double().eval()

    def scores(self, documents: Tensor) -> Tensor:
        """Score all classes."""
        scores: Tensor = self(documents)
        return scores


class TreeHead(nn.Sequential):
    """Hidden layers, and a hierarchical softmax as the last."""

    def __init__(self, in_features: int, hidden_sizes: Sequence[int], tree: SoftmaxTree) -> None:
        layers = make_hidden_layers(in_features, hidden_sizes, device="cpu", dtype=torch.float32)
        width = hidden_sizes[-1] if hidden_sizes else in_features
        softmax = HierarchicalSoftmax(tree, width, sparse=True, device="cpu", dtype=torch.float32)
        if not hidden_sizes:
            nn.init.normal_(softmax.weight, std=_LENGTH / math.sqrt(width))
        super().__init__(*layers, softmax)

    @property
    def softmax(self) -> HierarchicalSoftmax:
        """The last layer."""
        layer = self[-1]
        assert isinstance(layer, HierarchicalSoftmax)
        return layer

    def forward(self, documents: Tensor) -> Tensor:
        """Compute what the tree reads."""
        hidden = documents
        for layer in list(self)[:-1]:
            hidden = layer(hidden)
        return hidden

    def in_double(self) -> TreeHead:
        """Copy the head."""
        tree = self.softmax.tree
        return deepcopy(self, {id(tree): tree}).double().eval()  # nobody can change a tree: both have it

    def scores(self, documents: Tensor) -> Tensor:
        """Score all classes."""
        return self.softmax.log_prob(self(documents))
