"""Path nodes, scores and log-probabilities against walks of one row at a time."""

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels.trees._paths import UpwardTree, add_scores, find_path_nodes, sum_log_probs

from ...random_trees import chain, random_shape


def upward_tree(tree):
    return UpwardTree(
        np.stack([tree.class_parent, tree.class_branch], axis=1).astype(np.int32),
        np.stack([tree.node_parent, tree.node_branch], axis=1).astype(np.int32),
        tree.score_offsets,
        tree.depths,
    )


@pytest.mark.parametrize("most_children", [2, 3, 22])
def test_scores_are_the_same_whatever_the_other_rows(most_children):
    rng = np.random.default_rng(0)
    tree = random_shape(60, most_children, seed=0)
    targets = rng.integers(0, 60, 40)
    inputs, weight = (rng.normal(size=(n, 100)).astype(np.float32) for n in (40, tree.n_scores))
    bias = np.zeros(tree.n_scores, dtype=np.float32)

    def log_probs(some):
        path_nodes = find_path_nodes(targets[:some], upward_tree(tree))
        scores = np.zeros(path_nodes.score_starts[-1], dtype=np.float32)
        add_scores(inputs[:some], weight, bias, path_nodes, scores)
        return sum_log_probs(scores, path_nodes, some)[0]

    together = log_probs(40)
    for n_rows in range(1, 40):
        np.testing.assert_array_equal(log_probs(n_rows), together[:n_rows])


def test_scores_that_are_no_numbers_are_not_hidden():
    for tree in (random_shape(9, 2, seed=0), random_shape(9, 9, seed=1)):
        path_nodes = find_path_nodes(np.arange(9), upward_tree(tree))
        log_probs, derivatives = sum_log_probs(np.full(path_nodes.score_starts[-1], np.nan), path_nodes, 9)
        assert np.isnan(log_probs).all()
        assert np.isnan(derivatives).all()


def test_the_deepest_tree_is_walked_to_its_end():
    tree = chain(3000)
    path_nodes = find_path_nodes(np.array([2999, 0]), upward_tree(tree))
    assert path_nodes.nodes.tolist() == list(range(2999))
    assert len(path_nodes.rows) == 3000
    log_probs, _ = sum_log_probs(np.zeros(3000), path_nodes, 2)
    np.testing.assert_allclose(log_probs, [-2999 * math.log(2), -math.log(2)], rtol=1e-12)
