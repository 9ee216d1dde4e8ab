"""The arrays of a hierarchical softmax, one row and one node at a time."""

import numpy as np

from .hashing import feature_slot


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
