"""The arrays of a hierarchical softmax, one row and one node at a time."""

from __future__ import annotations

import math

import numpy as np

from .hashing import feature_slot


def path_nodes(tree, targets) -> list[tuple[int, int, int]]:
    """Return (node, row, branch) for each node on the paths to some classes, node by node."""
    triples = []
    for row, target in enumerate(targets):
        nodes, branches = tree.path(int(target))
        triples += [(int(node), row, int(branch)) for node, branch in zip(nodes, branches, strict=True)]
    return sorted(triples)


def branch_log_prob(scores: list[float], branch: int) -> tuple[float, list[float]]:
    """Return the log-probability of a branch, and its derivative by each score."""
    pair = [0.0, scores[0]] if len(scores) == 1 else list(scores)
    highest = max(pair)
    total = sum(math.exp(score - highest) for score in pair)
    derivatives = [(branch == j) - math.exp(score - highest) / total for j, score in enumerate(pair)]
    return pair[branch] - highest - math.log(total), derivatives[1:] if len(scores) == 1 else derivatives


def branch_log_probs(scorer, row, features, node: int):
    """Return the log-probability of each child of a node."""
    first, last = scorer.first_rows[node : node + 2]
    scores = scorer.weight[first:last] @ row + scorer.bias[first:last]
    for feature in features.tolist():
        if feature >= 0:
            slot = feature_slot(feature, node, tuple(scorer.constants.tolist()), len(scorer.direct))
            scores += scorer.direct[(slot + np.arange(last - first)) % len(scorer.direct)]
    if len(scores) == 1:
        scores = np.array([0.0, scores[0]])
    return scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())


def all_log_probs(tree, scorer, row, features):
    """Return the log-probabilities of all classes, each the sum over its path."""
    steps = [branch_log_probs(scorer, row, features, node) for node in range(tree.n_nodes)]
    paths = [tree.path(class_index) for class_index in range(tree.n_classes)]
    return np.array([sum(steps[node][branch] for node, branch in zip(*path, strict=True)) for path in paths])
