"""A tree from the root down as torch reads it, on one device, made when it is first needed."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklearn_hashnlp.trees import SoftmaxTree


class Block(NamedTuple):
    """Inner nodes of one level that have equally many children."""

    arity: int  # how many
    # (n_nodes * n_scores,): rows of the weight, node by node: one a node if there are two children, else one a child
    scores: Tensor
    nodes: Tensor  # (n_nodes,): their places among the nodes of the level


class Level(NamedTuple):
    """Inner nodes at one distance from the root."""

    blocks: list[Block]  # by ascending arity
    inner: Tensor  # which of the children are inner nodes: the nodes of the next level
    leaves: Tensor  # which are classes


class TreeTensors:
    """What plain torch needs of a tree in order to look at all its classes."""

    def __init__(self, tree: SoftmaxTree, device: torch.device) -> None:
        self.tree = tree
        self.device = device

    @cached_property
    def children(self) -> Tensor:
        """The tree's own, int64 of shape (n_edges,)."""
        return self._tensor(self.tree.children)

    @cached_property
    def offsets(self) -> Tensor:
        """The tree's own, int64 of shape (n_nodes + 1,)."""
        return self._tensor(self.tree.offsets)

    @cached_property
    def first_rows(self) -> Tensor:
        """Where each node's rows of the weight begin, int64 of shape (n_nodes + 1,)."""
        return self._tensor(self.tree.score_offsets)

    @cached_property
    def score_nodes(self) -> Tensor:
        """Node of each row of the weight, int64 of shape (n_scores,)."""
        return self._tensor(np.repeat(np.arange(self.tree.n_nodes), np.diff(self.tree.score_offsets)))

    @cached_property
    def levels(self) -> list[Level]:
        """All levels, the root's first."""
        return self._walk()[0]

    @cached_property
    def class_order(self) -> Tensor:
        """Place of each class among the leaves of all levels, end to end, int64 of shape (V,)."""
        return self._tensor(self._walk()[1])

    def greedy(
        self,
        scores: Tensor,  # (rows, n_scores)
    ) -> Tensor:  # (rows,)
        """Follow the most probable child of each node, the first at a tie, from the root down."""
        best = torch.zeros((len(scores), self.tree.n_nodes), dtype=torch.int64, device=scores.device)
        for arity in np.unique(self.tree.arities).tolist():
            nodes = self._tensor(np.flatnonzero(self.tree.arities == arity))
            if arity == 2:
                best[:, nodes] = (scores[:, self.first_rows[nodes]].sigmoid() > 0.5).long()
            else:
                rows = self.first_rows[nodes].unsqueeze(1) + torch.arange(arity, device=scores.device)
                best[:, nodes] = scores[:, rows].argmax(dim=2)
        node = torch.zeros((len(scores), 1), dtype=torch.int64, device=scores.device)
        if not self.tree.n_nodes:
            return node.squeeze(1)
        for _ in range(self.tree.max_depth):
            inner = node.clamp(min=0)
            node = torch.where(node >= 0, self.children[self.offsets[inner] + best.gather(1, inner)], node)
        return ~node.squeeze(1)

    def _tensor(self, array: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Tensor:
        # Kept for later, when they may be needed on the way back.
        with torch.inference_mode(False):
            return torch.tensor(array, dtype=torch.int64, device=self.device)

    def _walk(self) -> tuple[list[Level], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        tree = self.tree
        levels, classes = [], []
        nodes = np.arange(min(tree.n_nodes, 1))
        while len(nodes):
            blocks, children = [], []
            for arity in np.unique(tree.arities[nodes]).tolist():
                places = np.flatnonzero(tree.arities[nodes] == arity)
                own = nodes[places]
                n_scores = 1 if arity == 2 else arity
                scores = tree.score_offsets[own][:, None] + np.arange(n_scores)
                blocks.append(Block(arity, self._tensor(scores.ravel()), self._tensor(places)))
                children.append(tree.children[tree.offsets[own][:, None] + np.arange(arity)].ravel())
            below = np.concatenate(children)
            inner, leaves = np.flatnonzero(below >= 0), np.flatnonzero(below < 0)
            levels.append(Level(blocks, self._tensor(inner), self._tensor(leaves)))
            classes.append(~below[leaves])
            nodes = below[inner]
        order = np.zeros(tree.n_classes, dtype=np.int64)
        if classes:
            order[np.concatenate(classes)] = np.arange(tree.n_classes)
        return levels, order
