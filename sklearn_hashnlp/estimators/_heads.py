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
    """Hidden layers and a linear one, out of which comes a score a class.

    Parameters
    ----------
    in_features : int
        Columns of a document vector.
    hidden_sizes : sequence of int
        Widths of the hidden layers.
    n_classes : int
        Scores.

    Examples
    --------
    >>> import torch
    >>> ScoreHead(22, [], 4)(torch.zeros(3, 22)).shape
    torch.Size([3, 4])
    """

    def __init__(self, in_features: int, hidden_sizes: Sequence[int], n_classes: int) -> None:
        super().__init__(*make_head(in_features, hidden_sizes, n_classes, device="cpu", dtype=torch.float32))

    def in_double(self) -> ScoreHead:
        """Copy the head.

        Returns
        -------
        ScoreHead
            A copy that computes in float64 and does not train.
        """
        return deepcopy(self).double().eval()

    def scores(self, documents: Tensor) -> Tensor:
        """Score all classes.

        Parameters
        ----------
        documents : Tensor of shape (n_documents, in_features)
            Document vectors.

        Returns
        -------
        Tensor of shape (n_documents, n_classes)
            Scores before the softmax or the sigmoids.
        """
        scores: Tensor = self(documents)
        return scores


class TreeHead(nn.Sequential):
    """Hidden layers, and a hierarchical softmax as the last.

    It is called for what the tree reads, which is all that training needs; the classes' log-probabilities are asked
    for by name. Without hidden layers each decision starts with a direction of its own, of about length 3, for
    documents whose vectors start at zero: what they learn in a single pass hangs on it.

    Parameters
    ----------
    in_features : int
        Columns of a document vector.
    hidden_sizes : sequence of int
        Widths of the hidden layers.
    tree : SoftmaxTree
        Over the classes.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.trees import complete_tree
    >>> head = TreeHead(22, [], complete_tree(4))
    >>> head(torch.zeros(3, 22)).shape, head.scores(torch.zeros(3, 22)).shape
    (torch.Size([3, 22]), torch.Size([3, 4]))
    """

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
        """Compute what the tree reads.

        Parameters
        ----------
        documents : Tensor of shape (n_documents, in_features)
            Document vectors.

        Returns
        -------
        Tensor of shape (n_documents, width)
            The last hidden layer; without any, the document vectors.
        """
        hidden = documents
        for layer in list(self)[:-1]:
            hidden = layer(hidden)
        return hidden

    def in_double(self) -> TreeHead:
        """Copy the head.

        Returns
        -------
        TreeHead
            A copy that computes in float64 and does not train.
        """
        tree = self.softmax.tree
        return deepcopy(self, {id(tree): tree}).double().eval()  # nobody can change a tree: both have it

    def scores(self, documents: Tensor) -> Tensor:
        """Score all classes.

        Parameters
        ----------
        documents : Tensor of shape (n_documents, in_features)
            Document vectors.

        Returns
        -------
        Tensor of shape (n_documents, n_classes)
            Log-probabilities, which are their own softmax's.
        """
        return self.softmax.log_prob(self(documents))
