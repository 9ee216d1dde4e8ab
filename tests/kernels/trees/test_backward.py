"""Gradients of a hierarchical softmax against matrix products, node by node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.trees._backward import input_gradients, score_gradients, weight_gradients
from sklearn_hashnlp.kernels.trees._forward import find_path_nodes

from ...random_trees import TREES, random_shape
from .test_forward import upward_tree


def blocks_of(path_nodes, values):
    """Yield the batch rows, the weight rows and the score matrix of each node."""
    for group in range(len(path_nodes.nodes)):
        rows = path_nodes.rows[path_nodes.starts[group] : path_nodes.starts[group + 1]]
        own = path_nodes.weight_rows[path_nodes.weight_starts[group] : path_nodes.weight_starts[group + 1]]
        yield (
            rows,
            own,
            values[path_nodes.score_starts[group] : path_nodes.score_starts[group + 1]].reshape(len(rows), len(own)),
        )


def assert_gradients(tree, n_rows, width, dtype, seed):
    rng = np.random.default_rng(seed)
    path_nodes = find_path_nodes(rng.integers(0, tree.n_classes, n_rows), upward_tree(tree))
    inputs, weight, derivatives, gradients = (
        rng.integers(-9, 9, shape).astype(dtype)  # integers: nothing is rounded
        for shape in ((n_rows, width), (tree.n_scores, width), path_nodes.score_starts[-1], n_rows)
    )
    d_scores = score_gradients(gradients, derivatives, path_nodes)
    d_weight, d_bias = weight_gradients(inputs, d_scores, path_nodes)
    d_inputs = input_gradients(weight, d_scores, path_nodes, n_rows)
    expected_weight, expected_bias = np.zeros_like(weight), np.zeros(tree.n_scores, dtype=dtype)
    expected_inputs = np.zeros_like(inputs)
    for rows, own, block in blocks_of(path_nodes, derivatives):
        node_scores = block * gradients[rows, None]
        expected_weight[own] += node_scores.T @ inputs[rows]
        expected_bias[own] += node_scores.sum(axis=0)
        expected_inputs[rows] += node_scores @ weight[own]
    assert (d_weight == expected_weight[path_nodes.weight_rows]).all()
    assert (d_bias == expected_bias[path_nodes.weight_rows]).all()
    assert (d_inputs == expected_inputs).all()
    assert d_weight.shape == (len(path_nodes.weight_rows), width)
    assert d_weight.dtype == d_bias.dtype == d_inputs.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 32])
@pytest.mark.parametrize("most_children", [2, 3, 9, 60])
@pytest.mark.parametrize("n_rows", [1, 4, 7, 8, 13, 70])
def test_gradients_are_products_exactly(n_rows, most_children, width, dtype):
    assert_gradients(random_shape(60, most_children, seed=n_rows), n_rows, width, dtype, seed=width)


@given(tree=TREES, n_rows=st.integers(0, 40), seed=st.integers(0, 9))
def test_any_tree_and_any_batch(tree, n_rows, seed):
    assert_gradients(tree, n_rows, 3, np.float64, seed)
