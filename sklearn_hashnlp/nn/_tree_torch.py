"""A softmax tree as tensors, and its paths in plain torch."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.kernels._tree_features import NODE_STEP
from sklearn_hashnlp.nn._hashing import LOW_32_BITS, hash_tensor, mix_tensor
from sklearn_hashnlp.nn._softmax_layers import at_least_float32
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


class Climb(NamedTuple):
    """A tree from the leaves up."""

    class_up: Tensor  # (V, 2): parent and branch of each class
    node_up: Tensor  # (n_nodes, 2): parent and branch of each inner node; -1 for the root
    first_rows: Tensor  # (n_nodes + 1,): where each node's rows of the weight begin
    max_depth: int  # inner nodes on the longest path
    root_width: int  # scores of the root
    is_binary: bool  # whether all inner nodes have two children

    def paths(
        self,
        target: Tensor,  # (rows,)
    ) -> tuple[Tensor, Tensor]:  # (rows, max_depth)
        """Climb from classes to the root."""
        steps = []
        up = self.class_up[target].long()
        for _ in range(self.max_depth):
            steps.append(up)
            node = up[:, :1]
            up = torch.where(node >= 0, self.node_up[node.squeeze(1).clamp(min=0)].long(), -1)
        nodes, branches = torch.stack(steps, dim=1).unbind(dim=2)
        return nodes, branches


class Scorer(NamedTuple):
    """The parameters of a layer, and how their gradients are to be."""

    weight: Tensor  # (n_scores, in_features): a row a score
    bias: Tensor  # (n_scores,): a number a score
    direct: Tensor | None  # (n_direct,): hashed direct connections
    constants: tuple[int, int]  # of the hash function
    sparse: bool  # whether gradients of the parameters are sparse

    def some(
        self,
        inputs: Tensor,  # (n_rows, in_features)
        rows: Tensor,  # (n,)
        scores: Tensor,  # (n,)
    ) -> Tensor:  # (n,)
        """Compute one score for each pair of a row of the batch and a row of the weight."""
        weights = functional.embedding(scores, self.weight, sparse=self.sparse)
        return at_least_float32((weights * inputs[rows]).sum(dim=1) + _pick(self.bias, scores, self.sparse))

    def range(
        self,
        inputs: Tensor,  # (n_rows, in_features)
        first: int,
        last: int,
    ) -> Tensor:  # (n_rows, last - first)
        """Compute the scores of neighbouring rows of the weight for all rows of the batch."""
        weight, bias = self.weight, self.bias
        if self.sparse:
            scores = torch.arange(first, last, device=weight.device)
            weight, bias = functional.embedding(scores, weight, sparse=True), _pick(bias, scores, True)
        else:
            weight, bias = weight[first:last], bias[first:last]
        return at_least_float32(functional.linear(inputs, weight, bias))

    def feature_scores(
        self,
        features: Tensor,  # (n_rows, n_features)
        rows: Tensor,  # (n,)
        nodes: Tensor,  # (n,)
        branches: Tensor,  # (n,)
    ) -> Tensor:  # (n,)
        """Compute what the direct connections add to one score for each of several rows of the batch."""
        if self.direct is None:
            raise ValueError("There are no direct connections.")
        entry, feature = (features[rows] >= 0).nonzero(as_tuple=True)
        slots = locate(mix_tensor(features)[rows[entry], feature], nodes[entry], self.constants, len(self.direct))
        values = at_least_float32(_pick(self.direct, (slots + branches[entry]) % len(self.direct), self.sparse))
        return torch.zeros(len(rows), dtype=values.dtype, device=values.device).index_add(0, entry, values)


def locate(mixed: Tensor, nodes: Tensor, constants: tuple[int, int], n_slots: int) -> Tensor:
    """Return the slots that :func:`sklearn_hashnlp.kernels._tree_features.locate_features` gives."""
    return hash_tensor((mixed + nodes * NODE_STEP) & LOW_32_BITS, constants, n_slots)


def path_log_probs(
    scorer: Scorer,
    climb: Climb,
    inputs: Tensor,  # (rows, in_features)
    target: Tensor,  # (rows,)
    features: Tensor | None,  # (rows, n_features)
) -> Tensor:  # (rows,)
    """Return the log-probability of each row's class."""
    path_nodes, path_branches = climb.paths(target)
    steps = torch.zeros(path_nodes.shape, dtype=torch.promote_types(inputs.dtype, torch.float32), device=inputs.device)
    wide_root = climb.root_width > 1
    if wide_root:  # every row visits it: one matrix product, and no weight is gathered
        scores = scorer.range(inputs, 0, climb.root_width)
        if features is not None:
            every, branches = torch.meshgrid(
                *(torch.arange(n, device=inputs.device) for n in scores.shape), indexing="ij"
            )
            root = torch.zeros_like(every)
            pairs = (part.flatten() for part in (every, root, branches))
            scores = scores + scorer.feature_scores(features, *pairs).view_as(scores)
        at_root = path_nodes == 0
        taken = functional.log_softmax(scores, dim=1).gather(1, (path_branches * at_root).sum(1, keepdim=True))
        steps = torch.where(at_root, taken, steps)
    visits = (path_nodes >= int(wide_root)).nonzero(as_tuple=True)
    rows, nodes, branches = visits[0], path_nodes[visits], path_branches[visits]
    first = climb.first_rows[nodes]
    widths = climb.first_rows[nodes + 1] - first
    owners = torch.repeat_interleave(widths)
    starts = widths.cumsum(0) - widths
    branch = torch.arange(len(owners), device=owners.device) - starts[owners]
    scores = scorer.some(inputs, rows[owners], first[owners] + branch)
    if features is not None:
        scores = scores + scorer.feature_scores(features, rows[owners], nodes[owners], branch)
    one = widths == 1
    decided = functional.logsigmoid(torch.where(branches == 1, scores[starts], -scores[starts]))
    if not climb.is_binary:
        highest = torch.full_like(scores[starts], -torch.inf).scatter_reduce(0, owners, scores.detach(), "amax")
        sums = torch.zeros_like(highest).index_add(0, owners, (scores - highest[owners]).exp())
        chosen = scores[starts + torch.where(one, 0, branches)]
        decided = torch.where(one, decided, chosen - highest - sums.log())
    return steps.index_put(visits, decided.to(steps.dtype)).sum(dim=1)


def all_log_probs(
    scorer: Scorer,
    tensors: TreeTensors,
    inputs: Tensor,  # (rows, in_features)
    features: Tensor | None,  # (rows, n_features)
) -> Tensor:  # (rows, V)
    """Return the log-probabilities of all classes, level by level."""
    scores = all_scores(scorer, tensors, inputs, features)
    nodes = torch.zeros((len(inputs), 1), dtype=scores.dtype, device=scores.device)
    leaves = []
    for level in tensors.levels:
        children = []
        for block in level.blocks:
            own = scores[:, block.scores]
            if block.arity == 2:
                steps = torch.stack([functional.logsigmoid(-own), functional.logsigmoid(own)], dim=2)
            else:
                steps = functional.log_softmax(own.view(len(own), len(block.nodes), block.arity), dim=2)
            children.append((nodes[:, block.nodes].unsqueeze(2) + steps).flatten(1))
        below = torch.cat(children, dim=1)
        leaves.append(below[:, level.leaves])
        nodes = below[:, level.inner]
    return torch.cat(leaves, dim=1)[:, tensors.class_order]


def all_scores(scorer: Scorer, tensors: TreeTensors, inputs: Tensor, features: Tensor | None) -> Tensor:
    """Compute all scores of all rows."""
    scores = at_least_float32(functional.linear(inputs, scorer.weight, scorer.bias))
    if features is None or scorer.direct is None:
        return scores
    nodes = tensors.score_nodes
    branches = torch.arange(len(nodes), device=nodes.device) - tensors.first_rows[nodes]
    for column in features.unbind(dim=1):
        slots = locate(mix_tensor(column).unsqueeze(1), nodes, scorer.constants, len(scorer.direct))
        values = at_least_float32(scorer.direct[(slots + branches) % len(scorer.direct)])
        scores = scores + torch.where((column >= 0).unsqueeze(1), values, 0)
    return scores


def _pick(vector: Tensor, places: Tensor, sparse: bool) -> Tensor:
    return torch.gather(vector, 0, places, sparse_grad=sparse)
