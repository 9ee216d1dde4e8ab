"""Path nodes, scores and log-probabilities against walks of one row at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.trees._forward import UpwardTree, add_scores, find_path_nodes, sum_log_probs

from ...oracles import tree_kernels
from ...random_trees import TREES, chain, random_shape


def upward_tree(tree):
    return UpwardTree(
        np.stack([tree.class_parent, tree.class_branch], axis=1).astype(np.int32),
        np.stack([tree.node_parent, tree.node_branch], axis=1).astype(np.int32),
        tree.score_offsets,
        tree.depths,
    )


@given(tree=TREES, seed=st.integers(0, 9), n_rows=st.integers(0, 20))
def test_path_nodes_are_those_of_the_paths(tree, seed, n_rows):
    targets = np.random.default_rng(seed).integers(0, tree.n_classes, n_rows)
    path_nodes, expected = find_path_nodes(targets, upward_tree(tree)), tree_kernels.path_nodes(tree, targets)
    nodes = np.repeat(path_nodes.nodes, np.diff(path_nodes.starts))
    assert list(zip(nodes, path_nodes.rows, path_nodes.branches, strict=True)) == expected
    assert path_nodes.nodes.tolist() == sorted({node for node, _, _ in expected})
    widths = np.diff(tree.score_offsets)
    assert path_nodes.weight_rows.tolist() == [
        row for node in path_nodes.nodes for row in range(*tree.score_offsets[node : node + 2])
    ]
    assert np.diff(path_nodes.weight_starts).tolist() == widths[path_nodes.nodes].tolist()
    assert np.diff(path_nodes.score_starts).tolist() == (widths[path_nodes.nodes] * np.diff(path_nodes.starts)).tolist()
    assert path_nodes.score_starts[0] == path_nodes.weight_starts[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 32])
@pytest.mark.parametrize("most_children", [2, 3, 9, 60])
@pytest.mark.parametrize("n_rows", [1, 3, 4, 70])
def test_scores_are_products_and_biases_exactly(n_rows, most_children, width, dtype):
    rng = np.random.default_rng(width)
    tree = random_shape(60, most_children, seed=n_rows)
    path_nodes = find_path_nodes(rng.integers(0, 60, n_rows), upward_tree(tree))
    inputs, weight, bias, scores = (
        rng.integers(-9, 9, shape).astype(dtype)  # integers: nothing is rounded
        for shape in ((n_rows, width), (tree.n_scores, width), tree.n_scores, path_nodes.score_starts[-1])
    )
    expected = scores.copy()
    for group, node in enumerate(path_nodes.nodes):
        first, last = tree.score_offsets[node : node + 2]
        block = expected[path_nodes.score_starts[group] : path_nodes.score_starts[group + 1]].reshape(-1, last - first)
        rows = path_nodes.rows[path_nodes.starts[group] : path_nodes.starts[group + 1]]
        block += inputs[rows] @ weight[first:last].T + bias[first:last]
    add_scores(inputs, weight, bias, path_nodes, scores)
    assert (scores == expected).all()


@pytest.mark.parametrize("most_children", [2, 3, 22])
def test_steady_scores_are_the_same_whatever_the_other_rows(most_children):
    rng = np.random.default_rng(0)
    tree = random_shape(60, most_children, seed=0)
    targets = rng.integers(0, 60, 40)
    inputs, weight = (rng.normal(size=(n, 100)).astype(np.float32) for n in (40, tree.n_scores))
    bias = np.zeros(tree.n_scores, dtype=np.float32)

    def log_probs(some):
        path_nodes = find_path_nodes(targets[:some], upward_tree(tree))
        scores = np.zeros(path_nodes.score_starts[-1], dtype=np.float32)
        add_scores(inputs[:some], weight, bias, path_nodes, scores, is_steady=True)
        return sum_log_probs(scores, path_nodes, some)[0]

    together = log_probs(40)
    for n_rows in range(1, 40):
        np.testing.assert_array_equal(log_probs(n_rows), together[:n_rows])


@given(tree=TREES, seed=st.integers(0, 9), scale=st.sampled_from([0.1, 3.0, 300.0]))
def test_log_probs_and_derivatives_follow_the_formula(tree, seed, scale):
    rng = np.random.default_rng(seed)
    path_nodes = find_path_nodes(rng.integers(0, tree.n_classes, 12), upward_tree(tree))
    scores = rng.normal(0, scale, path_nodes.score_starts[-1])
    expected_log_probs, expected_derivatives = np.zeros(12), np.empty_like(scores)
    for group in range(len(path_nodes.nodes)):
        width = np.diff(path_nodes.weight_starts)[group]
        for i, at in enumerate(range(path_nodes.starts[group], path_nodes.starts[group + 1])):
            start = path_nodes.score_starts[group] + i * width
            log_prob, derivatives = tree_kernels.branch_log_prob(
                scores[start : start + width].tolist(), int(path_nodes.branches[at])
            )
            expected_log_probs[path_nodes.rows[at]] += log_prob
            expected_derivatives[start : start + width] = derivatives
    log_probs, derivatives = sum_log_probs(scores, path_nodes, 12)
    np.testing.assert_allclose(log_probs, expected_log_probs, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(derivatives, expected_derivatives, rtol=1e-9, atol=1e-12)


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
