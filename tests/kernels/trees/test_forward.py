"""Path nodes, scores and log-probabilities against walks of one row at a time."""

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels.trees._paths import (
    add_scores,
    find_path_nodes,
    input_gradients,
    sum_log_probs,
)
from sklearn_hashnlp.trees import SoftmaxTree

from ...random_trees import chain, random_shape
from .upward_trees import upward_tree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most_children", [2, 3, 22])
def test_a_row_has_the_same_bits_whatever_the_other_rows(most_children, dtype):
    rng = np.random.default_rng(0)
    tree = random_shape(60, most_children, seed=0)
    targets = rng.integers(0, 60, 40)
    inputs, weight = (rng.normal(size=(n, 101)).astype(dtype) for n in (40, tree.n_scores))
    bias = np.zeros(tree.n_scores, dtype=dtype)

    def outputs(rows):
        path_nodes = find_path_nodes(targets[rows], upward_tree(tree))
        scores = np.zeros(path_nodes.score_starts[-1], dtype=dtype)
        add_scores(inputs[rows], weight, bias, path_nodes, scores)
        log_probs, derivatives = sum_log_probs(scores, path_nodes, len(targets[rows]))
        return log_probs, input_gradients(weight, derivatives, path_nodes, len(targets[rows]))

    together = outputs(slice(None))
    for rows in [*(slice(stop) for stop in range(40)), *(slice(row, row + 1) for row in range(40))]:
        for own, expected in zip(outputs(rows), together, strict=True):
            np.testing.assert_array_equal(own, expected[rows])


SIZES = np.concatenate([np.linspace(0, 707, 20_001), np.geomspace(1e-300, 1, 3000)])
EXPS = [math.exp(-size) for size in SIZES]


def of_one_node(scores, n_branches):
    """Return the log-probability of each row's last branch, and the derivatives, at a node without
    other nodes.
    """
    tree = SoftmaxTree([~branch for branch in range(n_branches)], [0, n_branches])
    path_nodes = find_path_nodes(np.full(len(scores), n_branches - 1), upward_tree(tree))
    log_probs, derivatives = sum_log_probs(scores.ravel(), path_nodes, len(scores))
    return log_probs, derivatives.reshape(scores.shape)


@pytest.mark.parametrize("sign", [-1, 1])
def test_sigmoids_are_right_to_their_last_bits(sign):
    log_probs, derivatives = of_one_node(sign * SIZES, 2)
    expected = [
        -math.log1p(exp) - (size if sign < 0 else 0) for size, exp in zip(SIZES, EXPS, strict=True)
    ]
    np.testing.assert_allclose(log_probs, expected, rtol=1e-15)
    np.testing.assert_allclose(
        derivatives, [(1 if sign < 0 else exp) / (1 + exp) for exp in EXPS], rtol=1e-15
    )


@pytest.mark.parametrize("n_branches", [3, 9, 16])
def test_softmaxes_are_right_to_their_last_bits(n_branches):
    scores = np.repeat(-SIZES[:, None], n_branches, axis=1)
    scores[:, -1] = 0
    log_probs, derivatives = of_one_node(scores, n_branches)
    totals = [1 + (n_branches - 1) * exp for exp in EXPS]
    np.testing.assert_allclose(
        log_probs, [-math.log(total) for total in totals], rtol=1e-14, atol=5e-16
    )
    shares = [-exp / total for exp, total in zip(EXPS, totals, strict=True)]
    np.testing.assert_allclose(derivatives[:, 0], shares, rtol=2e-15)
    np.testing.assert_allclose(derivatives.sum(axis=1), 0, atol=2e-15)


def test_scores_that_are_no_numbers_are_not_hidden():
    for tree in (random_shape(9, 2, seed=0), random_shape(9, 9, seed=1)):
        path_nodes = find_path_nodes(np.arange(9), upward_tree(tree))
        log_probs, derivatives = sum_log_probs(
            np.full(path_nodes.score_starts[-1], np.nan), path_nodes, 9
        )
        assert np.isnan(log_probs).all()
        assert np.isnan(derivatives).all()


def test_the_deepest_tree_is_walked_to_its_end():
    tree = chain(3000)
    path_nodes = find_path_nodes(np.array([2999, 0]), upward_tree(tree))
    assert path_nodes.nodes.tolist() == list(range(2999))
    assert len(path_nodes.rows) == 3000
    log_probs, _ = sum_log_probs(np.zeros(3000), path_nodes, 2)
    np.testing.assert_allclose(log_probs, [-2999 * math.log(2), -math.log(2)], rtol=1e-12)
