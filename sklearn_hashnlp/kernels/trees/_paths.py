"""Forward and backward pass of a hierarchical softmax over the nodes on the paths of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


class UpwardTree(NamedTuple):
    """A tree as the kernels read it from the leaves up."""

    # (V, 2): parent and branch of each class, or -1 without an inner node
    class_up: NDArray[np.int32]
    # (n_nodes, 2): parent and branch of each inner node; -1 for the root
    node_up: NDArray[np.int32]
    # (n_nodes + 1,): node i has the weight rows first_rows[i] .. first_rows[i + 1], one if it has
    # two children, else one for each child.
    first_rows: NDArray[np.int64]
    depths: NDArray[np.int64]  # (V,): number of inner nodes on the path of each class


class PathNodes(NamedTuple):
    """The inner nodes on paths of a batch's classes: pairs of node and row, grouped by node."""

    nodes: NDArray[np.int64]  # (n_groups,): the nodes, ascending
    starts: NDArray[np.int64]  # (n_groups + 1,): start of the pairs of each node, and the end
    rows: NDArray[np.int32]  # (n_pairs,): row of the batch, ascending within a node
    branches: NDArray[np.int32]  # (n_pairs,): branch on the path to the row's class
    # (n_groups + 1,): start of the scores of each node, pair by pair
    score_starts: NDArray[np.int64]
    weight_rows: NDArray[np.int64]  # (n_weight_rows,): the weight rows of the nodes, ascending
    # (n_groups + 1,): start of each node in ``weight_rows``, and the end
    weight_starts: NDArray[np.int64]


def find_path_nodes(
    targets: NDArray[np.int64],  # (rows,)
    tree: UpwardTree,
) -> PathNodes:
    """Find the inner nodes on the path from the root to each target."""
    return PathNodes(*_native.find_path_nodes(targets, tree))


def add_scores(
    inputs: NDArray[Any],  # (rows, in_features)
    weight: NDArray[Any],  # (n_scores, in_features)
    bias: NDArray[Any],  # (n_scores,)
    path_nodes: PathNodes,
    scores: NDArray[Any],  # (n,): in the order of ``path_nodes.score_starts``
) -> None:
    """Add bias and dot product to each score; a row's scores do not depend on other rows."""
    _native.add_scores(inputs, weight, bias, path_nodes, scores)


def sum_log_probs(
    scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_rows: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the log-probability of each row's class, and its derivatives by the row's scores."""
    log_probs, derivatives = np.zeros(n_rows, dtype=scores.dtype), np.empty_like(scores)
    _native.sum_log_probs(scores, path_nodes, log_probs, derivatives)
    return log_probs, derivatives


def score_gradients(
    gradients: NDArray[Any],  # (rows,): of the log-probabilities
    derivatives: NDArray[Any],  # (n,): as :func:`sum_log_probs` returns them
    path_nodes: PathNodes,
) -> NDArray[Any]:  # (n,)
    """Return the gradient of each score."""
    d_scores = np.empty_like(derivatives)
    _native.score_gradients(gradients, derivatives, path_nodes, d_scores)
    return d_scores


def weight_gradients(
    inputs: NDArray[Any],  # (rows, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the gradients of the weight rows and the biases in ``path_nodes.weight_rows``."""
    n_weight_rows = len(path_nodes.weight_rows)
    d_weight = np.empty((n_weight_rows, inputs.shape[1]), dtype=inputs.dtype)
    d_bias = np.empty(n_weight_rows, dtype=inputs.dtype)
    _native.weight_gradients(inputs, d_scores, path_nodes, d_weight, d_bias)
    return d_weight, d_bias


def input_gradients(
    weight: NDArray[Any],  # (n_scores, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_rows: int,
) -> NDArray[Any]:  # (n_rows, in_features)
    """Return the gradient of each input, summed from the root down."""
    d_inputs = np.zeros((n_rows, weight.shape[1]), dtype=weight.dtype)
    _native.input_gradients(weight, d_scores, path_nodes, d_inputs)
    return d_inputs
