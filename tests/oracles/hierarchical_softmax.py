"""A hierarchical softmax, one class, one node and one number at a time."""

import math
from itertools import pairwise

from tests.oracles.hashing import hash_constants

from .hashing import feature_slot


def node_scores(layer, row: list[float], features: list[int]) -> list[list[float]]:
    """Return each node's scores: w x + b, and an entry of the direct table for each feature."""
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    direct = [] if layer.direct is None else layer.direct.tolist()
    constants, offsets = (
        hash_constants(layer.direct_seed, 1)[0][:2],
        layer.tree.score_offsets.tolist(),
    )
    scores = []
    for node, (first, last) in enumerate(pairwise(offsets)):
        own = [
            sum(w * x for w, x in zip(weight[at], row, strict=True)) + bias[at]
            for at in range(first, last)
        ]
        for feature in features:
            if feature >= 0:
                slot = feature_slot(feature, node, constants, len(direct))
                own = [score + direct[(slot + j) % len(direct)] for j, score in enumerate(own)]
        scores.append(own)
    return scores


def log_probs(layer, row: list[float], features: list[int]) -> list[float]:
    """Return the log-probability of each class: the sum of the log-probabilities of the branches on
    its path.
    """
    steps = []
    for scores in node_scores(layer, row, features):
        # sigmoid(s) is the second of softmax(0, s)
        pair = [0.0, *scores] if len(scores) == 1 else scores
        highest = max(pair)
        total = sum(math.exp(score - highest) for score in pair)
        steps.append([score - highest - math.log(total) for score in pair])
    paths = [layer.tree.path(class_index) for class_index in range(layer.n_classes)]
    return [sum(steps[node][branch] for node, branch in zip(*path, strict=True)) for path in paths]


def greedy_class(nested, probabilities: list[float]) -> int:
    """Follow the child with the largest sum of class probabilities, from the root of a nested list
    to a class.
    """
    while isinstance(nested, list):
        nested = max(nested, key=lambda child: sum(probabilities[c] for c in classes_below(child)))
    return nested


def classes_below(nested) -> list[int]:
    """Return all classes of a nested list."""
    return (
        [nested]
        if isinstance(nested, int)
        else [c for child in nested for c in classes_below(child)]
    )


def reference_decoder(right_probabilities: list[float], n_classes: int) -> int:
    """Walk down the complete tree, right where the probability is above 0.5, as the reference
    implementation does.
    """
    node, code = 0, 1
    while node < len(right_probabilities):
        right = right_probabilities[node] > 0.5
        code = 2 * code + right
        node = 2 * node + 1 + right
    return code - n_classes
