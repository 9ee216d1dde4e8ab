"""Each instruction set computes the same bits, forward, backward and in search."""

import numpy as np
import pytest

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.trees._features import add_direct, direct_gradients, locate_features
from sklearn_hashnlp.kernels.trees._paths import (
    add_scores,
    find_path_nodes,
    input_gradients,
    score_gradients,
    sum_log_probs,
    weight_gradients,
)
from sklearn_hashnlp.kernels.trees._search import TreeScorer, descend, search_best
from tests.oracles.hashing import hash_constants

from ...random_trees import random_shape
from .upward_trees import upward_tree

N_CLASSES = 90
N_ROWS = 70
N_SLOTS = 101
K = 5
CONSTANTS = np.array(hash_constants(5, 1)[0][:2], dtype=np.uint64)


def results(tree, n_columns, dtype):
    rng = np.random.default_rng(0)
    inputs, weight = (
        rng.normal(size=(n, n_columns)).astype(dtype) for n in (N_ROWS, tree.n_scores)
    )
    bias, direct, gradients = (
        rng.normal(size=n).astype(dtype) for n in (tree.n_scores, N_SLOTS, N_ROWS)
    )
    features, targets = rng.integers(-9, 99, (N_ROWS, 3)), rng.integers(0, N_CLASSES, N_ROWS)
    path_nodes = find_path_nodes(targets, upward_tree(tree))
    slots = locate_features(features, path_nodes, CONSTANTS, N_SLOTS)
    scores = np.zeros(path_nodes.score_starts[-1], dtype=dtype)
    add_direct(direct, slots, path_nodes, scores)
    add_scores(inputs, weight, bias, path_nodes, scores)
    log_probs, derivatives = sum_log_probs(scores, path_nodes, N_ROWS)
    d_scores = score_gradients(gradients, derivatives, path_nodes)
    max_scores = int(np.diff(tree.score_offsets).max())
    shape = tree.children, tree.offsets, tree.score_offsets
    scorer = TreeScorer(*shape, weight, bias, direct, CONSTANTS, max_scores)
    best, classes = np.empty((N_ROWS, K + 1), dtype=dtype), np.empty((N_ROWS, K), dtype=np.int64)
    search_best(inputs, features, scorer, best, classes)
    found = [np.empty(N_ROWS, dtype=np.int64) for _ in range(2)]
    descend(inputs, features, scorer, np.empty(0), found[0])
    descend(inputs, features, scorer, rng.random(N_ROWS), found[1])
    return [
        *(slots, scores, log_probs, derivatives, d_scores, best, classes, *found),
        *weight_gradients(inputs, d_scores, path_nodes),
        input_gradients(weight, d_scores, path_nodes, N_ROWS),
        *direct_gradients(slots, d_scores, path_nodes, N_SLOTS),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [3, 40, 77])
@pytest.mark.parametrize("most_children", [2, 4, 40])
def test_each_level_computes_the_same_bits(most_children, n_columns, dtype, level):
    tree = random_shape(N_CLASSES, most_children, seed=0)
    of_level = results(tree, n_columns, dtype)
    _native.set_level("baseline")
    assert all(np.isfinite(result).all() for result in of_level), level
    for result, expected in zip(of_level, results(tree, n_columns, dtype), strict=True):
        assert result.dtype == expected.dtype
        assert result.tobytes() == expected.tobytes()
