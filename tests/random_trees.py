"""Trees of any shape, and a slow and obvious hierarchical softmax over them."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from sklearn_hashnlp.nn._hashing import hash_array, hash_constants
from sklearn_hashnlp.trees import SoftmaxTree, tree_from_nested


def random_shape(n_classes: int, most_children: int, seed: int) -> SoftmaxTree:
    """Split shuffled classes into 2 to ``most_children`` parts, each of them again, down to single classes."""
    rng = random.Random(seed)

    def split(classes: list[int]) -> object:
        if len(classes) == 1:
            return classes[0]
        n_parts = rng.randint(2, max(min(len(classes), most_children), 2))
        ends = [0, *sorted(rng.sample(range(1, len(classes)), n_parts - 1)), len(classes)]
        return [split(classes[begin:end]) for begin, end in pairwise(ends)]

    return tree_from_nested(split(rng.sample(range(n_classes), n_classes)))


def chain(n_classes: int) -> SoftmaxTree:
    """Give the deepest tree there is: [0, [1, [2, ...]]]."""
    n_nodes = n_classes - 1
    children = [child for node in range(n_nodes) for child in (~node, node + 1)]
    children[-1] = ~(n_classes - 1)
    return SoftmaxTree(children, range(0, 2 * n_nodes + 1, 2))


TREES = st.builds(random_shape, st.integers(1, 30), st.sampled_from([2, 3, 7, 30]), st.integers(0, 99))
"""Any arities, any depths, one class too."""


def plain_scores(layer, row: list[float], features: list[int]) -> list[list[float]]:
    """Score each node's branches one by one: w x + b, and an entry of the table for each feature."""
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    direct = [] if layer.direct is None else layer.direct.tolist()
    constants, offsets = hash_constants(layer.direct_seed, 1)[0], layer.tree.score_offsets.tolist()
    scores = []
    for node, (first, last) in enumerate(pairwise(offsets)):
        own = [sum(w * x for w, x in zip(weight[at], row, strict=True)) + bias[at] for at in range(first, last)]
        for feature in features:
            if feature >= 0:
                key = (fmix32(feature) + node * 0x9E3779B1) % 2**32
                slot = int(hash_array(np.array([key]), constants, len(direct))[0])
                own = [score + direct[(slot + j) % len(direct)] for j, score in enumerate(own)]
        scores.append(own)
    return scores


def plain_log_probs(layer, row: list[float], features: list[int]) -> list[float]:
    """Walk each class's path from the root and add up the logarithms of its branches' probabilities."""
    steps = []
    for scores in plain_scores(layer, row, features):
        pair = [0.0, *scores] if len(scores) == 1 else scores  # sigmoid(s) is the second of softmax(0, s)
        highest = max(pair)
        total = sum(math.exp(score - highest) for score in pair)
        steps.append([score - highest - math.log(total) for score in pair])
    paths = [layer.tree.path(class_index) for class_index in range(layer.n_classes)]
    return [sum(steps[node][branch] for node, branch in zip(*path, strict=True)) for path in paths]


def fmix32(key: int) -> int:
    """Scramble the low 32 bits, as MurmurHash3 does at its end."""
    key %= 2**32
    key = (key ^ key >> 16) * 0x85EBCA6B % 2**32
    key = (key ^ key >> 13) * 0xC2B2AE35 % 2**32
    return key ^ key >> 16
