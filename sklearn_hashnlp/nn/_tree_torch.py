"""Hierarchical softmax in plain torch: other devices, compiled programs and second derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.kernels.trees._features import NODE_STEP
from sklearn_hashnlp.nn._hashing import mix_tensor, slot_tensor
from sklearn_hashnlp.nn._softmax_layers import at_least_float32
from sklearn_hashnlp.nn._tensors import is_traced
from sklearn_hashnlp.trees import SoftmaxTree


class TreeTensors:
    """A tree from the root down as index tensors, for all classes."""

    def __init__(self, tree: SoftmaxTree, device: torch.device) -> None:
        self.tree = tree
        self.device = device

    @cached_property
    def children(self) -> Tensor:
        """The children of the tree, int64 of shape (n_edges,)."""
        return self._tensor(self.tree.children)

    @cached_property
    def offsets(self) -> Tensor:
        """The start of each node's children, int64 of shape (n_nodes + 1,)."""
        return self._tensor(self.tree.offsets)

    @cached_property
    def first_rows(self) -> Tensor:
        """The start of each node's rows of the weight, int64 of shape (n_nodes + 1,)."""
        return self._tensor(self.tree.score_offsets)

    @cached_property
    def score_nodes(self) -> Tensor:
        """The node of each row of the weight, int64 of shape (n_scores,)."""
        return self._tensor(
            np.repeat(np.arange(self.tree.n_nodes), np.diff(self.tree.score_offsets))
        )

    def greedy(
        self,
        scores: Tensor,  # (rows, n_scores)
    ) -> Tensor:  # (rows,)
        """Follow the most probable child from the root to a class; the first child at a tie."""
        best = torch.zeros(
            (len(scores), self.tree.n_nodes), dtype=torch.int64, device=scores.device
        )
        for arity in np.unique(self.tree.arities).tolist():
            nodes = self._tensor(np.flatnonzero(self.tree.arities == arity))
            if arity == 2:
                best[:, nodes] = (scores[:, self.first_rows[nodes]].sigmoid() > 0.5).long()
            else:
                rows = self.first_rows[nodes].unsqueeze(1) + torch.arange(
                    arity, device=scores.device
                )
                best[:, nodes] = scores[:, rows].argmax(dim=2)
        node = torch.zeros((len(scores), 1), dtype=torch.int64, device=scores.device)
        if not self.tree.n_nodes:
            return node.squeeze(1)
        for _ in range(self.tree.max_depth):
            inner = node.clamp(min=0)
            node = torch.where(
                node >= 0, self.children[self.offsets[inner] + best.gather(1, inner)], node
            )
        return ~node.squeeze(1)

    def _tensor(self, array: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Tensor:
        # These are cached, and a backward pass may need them: they must not be inference tensors.
        with torch.inference_mode(False):
            return torch.tensor(array, dtype=torch.int64, device=self.device)

    @cached_property
    def levels(
        self,
    ) -> tuple[list[tuple[list[tuple[int, Tensor, Tensor]], Tensor, Tensor]], Tensor]:
        """The levels from the root down, and each class's index among their concatenated leaves.

        A level is its blocks of nodes with the same number of children (the number, their rows of
        the weight, and their indices in the level), and the indices of the children that are inner
        nodes and that are classes.
        """
        tree = self.tree
        levels, classes = [], []
        nodes = np.arange(min(tree.n_nodes, 1))
        while len(nodes):
            blocks, children = [], []
            for arity in np.unique(tree.arities[nodes]).tolist():
                indices = np.flatnonzero(tree.arities[nodes] == arity)
                own = nodes[indices]
                n_scores = 1 if arity == 2 else arity
                scores = tree.score_offsets[own][:, None] + np.arange(n_scores)
                blocks.append((arity, self._tensor(scores.ravel()), self._tensor(indices)))
                children.append(
                    tree.children[tree.offsets[own][:, None] + np.arange(arity)].ravel()
                )
            below = np.concatenate(children)
            inner, leaves = np.flatnonzero(below >= 0), np.flatnonzero(below < 0)
            levels.append((blocks, self._tensor(inner), self._tensor(leaves)))
            classes.append(~below[leaves])
            nodes = below[inner]
        order = np.zeros(tree.n_classes, dtype=np.int64)
        if classes:
            order[np.concatenate(classes)] = np.arange(tree.n_classes)
        return levels, self._tensor(order)


class PathTensors(NamedTuple):
    """A tree from the classes up as index tensors, for paths of some classes."""

    class_up: Tensor  # (V, 2): parent and branch of each class
    node_up: Tensor  # (n_nodes, 2): parent and branch of each inner node; -1 for the root
    first_rows: Tensor  # (n_nodes + 1,): start of each node's rows of the weight
    max_depth: int  # inner nodes on the longest path
    root_width: int  # scores of the root
    width_below: int  # maximum number of scores of other nodes, at least 1
    is_binary: bool  # whether all inner nodes have two children

    def of(
        self,
        target: Tensor,  # (rows,)
    ) -> tuple[Tensor, Tensor]:  # (rows, max_depth)
        """Return the inner nodes on the path of each class and the branches, padded with -1."""
        steps = []
        up = self.class_up[target].long()
        for _ in range(self.max_depth):
            steps.append(up)
            node = up[:, :1]
            up = torch.where(node >= 0, self.node_up[node.squeeze(1).clamp(min=0)].long(), -1)
        nodes, branches = torch.stack(steps, dim=1).unbind(dim=2)
        return nodes, branches


class Scorer(NamedTuple):
    """The parameters of a layer, from which the scores of nodes are computed."""

    weight: Tensor  # (n_scores, in_features)
    bias: Tensor  # (n_scores,)
    direct: Tensor | None  # (n_direct,): hashed direct connections
    constants: tuple[int, int]  # hash function of direct connections
    sparse: bool  # whether gradients of the parameters are sparse

    def of_pairs(
        self,
        inputs: Tensor,  # (n_rows, in_features)
        rows: Tensor,  # (n,)
        scores: Tensor,  # (n,)
    ) -> Tensor:  # (n,)
        """Compute the scores of pairs of an input row and a weight row."""
        weights = functional.embedding(scores, self.weight, sparse=self.sparse)
        return at_least_float32(
            (weights * inputs[rows]).sum(dim=1) + _pick(self.bias, scores, self.sparse)
        )

    def of_root(
        self,
        inputs: Tensor,  # (n_rows, in_features)
        width: int,
    ) -> Tensor:  # (n_rows, width)
        """Compute the scores of the root, which has the first rows of the weight."""
        if self.sparse:
            scores = torch.arange(width, device=self.weight.device)
            weight = functional.embedding(scores, self.weight, sparse=True)
            bias = _pick(self.bias, scores, sparse=True)
        else:
            weight, bias = self.weight[:width], self.bias[:width]
        return at_least_float32(functional.linear(inputs, weight, bias))

    def of_features(
        self,
        features: Tensor,  # (n_rows, n_features)
        rows: Tensor,  # (n,)
        nodes: Tensor,  # (n,)
        branches: Tensor,  # (n,)
    ) -> Tensor:  # (n,)
        """Compute the sum of hashed direct connections for each row, node and branch."""
        if self.direct is None:
            raise ValueError("There are no direct connections.")
        if is_traced():
            slots = feature_slots(
                mix_tensor(features)[rows], nodes.unsqueeze(1), self.constants, len(self.direct)
            )
            slots = (slots + branches.unsqueeze(1)) % len(self.direct)
            values = at_least_float32(_pick(self.direct, slots.flatten(), self.sparse)).view_as(
                slots
            )
            return torch.where(features[rows] >= 0, values, 0).sum(dim=1)
        entry, feature = (features[rows] >= 0).nonzero(as_tuple=True)
        keys = mix_tensor(features)[rows[entry], feature]
        slots = feature_slots(keys, nodes[entry], self.constants, len(self.direct))
        values = at_least_float32(
            _pick(self.direct, (slots + branches[entry]) % len(self.direct), self.sparse)
        )
        return torch.zeros(len(rows), dtype=values.dtype, device=values.device).index_add(
            0, entry, values
        )


def feature_slots(mixed: Tensor, nodes: Tensor, constants: tuple[int, int], n_slots: int) -> Tensor:
    """Return the slots of features at nodes, as the compiled kernels compute them."""
    return slot_tensor(mix_tensor(mixed + nodes * NODE_STEP), constants, n_slots)


def path_log_probs(
    scorer: Scorer,
    paths: PathTensors,
    inputs: Tensor,  # (rows, in_features)
    target: Tensor,  # (rows,)
    features: Tensor | None,  # (rows, n_features)
) -> Tensor:  # (rows,)
    """Compute the log-probability of the target of each row."""
    path_nodes, path_branches = paths.of(target)
    steps = torch.zeros(
        path_nodes.shape,
        dtype=torch.promote_types(inputs.dtype, torch.float32),
        device=inputs.device,
    )
    wide_root = paths.root_width > 1
    # all rows visit the root: one matrix product, and no row of the weight is gathered
    if wide_root:
        scores = scorer.of_root(inputs, paths.root_width)
        if features is not None:
            axes = (torch.arange(n, device=inputs.device) for n in scores.shape)
            rows, branches = (part.flatten() for part in torch.meshgrid(*axes, indexing="ij"))
            scores = scores + scorer.of_features(
                features, rows, torch.zeros_like(rows), branches
            ).view_as(scores)
        at_root = path_nodes == 0
        root_branches = (path_branches * at_root).sum(1, keepdim=True)
        steps = torch.where(
            at_root, functional.log_softmax(scores, dim=1).gather(1, root_branches), steps
        )
    if is_traced():
        is_visit = path_nodes >= int(wide_root)
        return torch.where(
            is_visit, _all_steps(scorer, paths, inputs, path_nodes, path_branches, features), steps
        ).sum(1)
    visits = (path_nodes >= int(wide_root)).nonzero(as_tuple=True)
    rows = visits[0]
    nodes = path_nodes[visits]
    branches = path_branches[visits]
    # The scores of all visits are concatenated: owners[i] is the visit of score i, and starts[v]
    # the first of visit v.
    first = paths.first_rows[nodes]
    widths = paths.first_rows[nodes + 1] - first
    owners = torch.repeat_interleave(widths)
    starts = widths.cumsum(0) - widths
    branch = torch.arange(len(owners), device=owners.device) - starts[owners]
    scores = scorer.of_pairs(inputs, rows[owners], first[owners] + branch)
    if features is not None:
        scores = scores + scorer.of_features(features, rows[owners], nodes[owners], branch)
    step_log_probs = functional.logsigmoid(
        torch.where(branches == 1, scores[starts], -scores[starts])
    )
    # a softmax over the scores of each visit, by its maximum and sum of exponentials
    if not paths.is_binary:
        is_binary = widths == 1
        highest = torch.full_like(scores[starts], -torch.inf).scatter_reduce(
            0, owners, scores.detach(), "amax"
        )
        sums = torch.zeros_like(highest).index_add(0, owners, (scores - highest[owners]).exp())
        chosen = scores[starts + torch.where(is_binary, 0, branches)]
        step_log_probs = torch.where(is_binary, step_log_probs, chosen - highest - sums.log())
    return steps.index_put(visits, step_log_probs.to(steps.dtype)).sum(dim=1)


def _all_steps(
    scorer: Scorer,
    paths: PathTensors,
    inputs: Tensor,  # (rows, in_features)
    path_nodes: Tensor,  # (rows, max_depth)
    path_branches: Tensor,  # (rows, max_depth)
    features: Tensor | None,  # (rows, n_features)
) -> Tensor:  # (rows, max_depth)
    """Compute log-probabilities of all steps below a wide root, padding to the largest width."""
    nodes, branches = path_nodes.clamp(min=0).flatten(), path_branches.clamp(min=0).flatten()
    width = paths.width_below
    owners = torch.arange(len(nodes), device=nodes.device).repeat_interleave(width)
    branch = torch.arange(width, device=nodes.device).repeat(len(nodes))
    first = paths.first_rows[nodes]
    widths = paths.first_rows[nodes + 1] - first
    rows = owners // path_nodes.shape[1]
    scores = scorer.of_pairs(
        inputs, rows, (first[owners] + branch).clamp(max=len(scorer.weight) - 1)
    )
    if features is not None:
        scores = scores + scorer.of_features(features, rows, nodes[owners], branch)
    scores = scores.view(-1, width)
    own = scores[:, 0]
    steps = functional.logsigmoid(torch.where(branches == 1, own, -own))
    if not paths.is_binary:
        is_own = branch.view(-1, width) < widths.unsqueeze(1)
        normalized = functional.log_softmax(scores.masked_fill(~is_own, -torch.inf), dim=1)
        chosen = normalized.gather(1, branches.clamp(max=width - 1).unsqueeze(1)).squeeze(1)
        steps = torch.where(widths == 1, steps, chosen)
    return steps.view_as(path_nodes)


def all_log_probs(
    scorer: Scorer,
    tensors: TreeTensors,
    inputs: Tensor,  # (rows, in_features)
    features: Tensor | None,  # (rows, n_features)
) -> Tensor:  # (rows, V)
    """Compute the log-probabilities of all classes, level by level."""
    scores = all_scores(scorer, tensors, inputs, features)
    nodes = torch.zeros((len(inputs), 1), dtype=scores.dtype, device=scores.device)
    leaves = []
    levels, class_order = tensors.levels
    for blocks, inner, level_leaves in levels:
        children = []
        for arity, rows, indices in blocks:
            own = scores[:, rows]
            if arity == 2:
                steps = torch.stack(
                    [functional.logsigmoid(-own), functional.logsigmoid(own)], dim=2
                )
            else:
                steps = functional.log_softmax(own.view(len(own), len(indices), arity), dim=2)
            children.append((nodes[:, indices].unsqueeze(2) + steps).flatten(1))
        below = torch.cat(children, dim=1)
        leaves.append(below[:, level_leaves])
        nodes = below[:, inner]
    return torch.cat(leaves, dim=1)[:, class_order]


def all_scores(
    scorer: Scorer, tensors: TreeTensors, inputs: Tensor, features: Tensor | None
) -> Tensor:
    """Compute all scores of all rows."""
    scores = at_least_float32(functional.linear(inputs, scorer.weight, scorer.bias))
    if features is None or scorer.direct is None:
        return scores
    nodes = tensors.score_nodes
    branches = torch.arange(len(nodes), device=nodes.device) - tensors.first_rows[nodes]
    for column in features.unbind(dim=1):
        slots = feature_slots(
            mix_tensor(column).unsqueeze(1), nodes, scorer.constants, len(scorer.direct)
        )
        values = at_least_float32(scorer.direct[(slots + branches) % len(scorer.direct)])
        scores = scores + torch.where((column >= 0).unsqueeze(1), values, 0)
    return scores


def _pick(vector: Tensor, indices: Tensor, sparse: bool) -> Tensor:
    return torch.gather(vector, 0, indices, sparse_grad=sparse)
