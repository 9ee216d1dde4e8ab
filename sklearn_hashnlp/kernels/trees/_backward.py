"""Backward pass of a hierarchical softmax: gradients of the weight, the bias and the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import add_scaled, add_scaled_4, add_scaled_8, prefetch_row
from sklearn_hashnlp.kernels.trees._forward import PathNodes

_AHEAD = 8  # nodes between the prefetch of a weight and its use
_TILE = 16  # inputs whose gradients stay in the first-level cache while all weight rows of a node are added


def score_gradients(
    gradients: NDArray[Any],  # (rows,): of the log-probabilities
    derivatives: NDArray[Any],  # (n,): as :func:`sum_log_probs` returns them
    path_nodes: PathNodes,
) -> NDArray[Any]:  # (n,)
    """Return the gradient of each score."""
    d_scores = np.empty_like(derivatives)
    _score_gradients(path_nodes.starts, path_nodes.score_starts, path_nodes.rows, derivatives, gradients, d_scores)
    return d_scores


@compiled
def _score_gradients(
    starts: NDArray[np.int64],
    score_starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    derivatives: NDArray[Any],
    gradients: NDArray[Any],
    d_scores: NDArray[Any],
) -> None:
    for group in range(len(starts) - 1):
        score_start = score_starts[group]
        arity = (score_starts[group + 1] - score_start) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            gradient = gradients[rows[at]]
            for j in range(score_start, score_start + arity):
                d_scores[j] = gradient * derivatives[j]
            score_start += arity


def weight_gradients(
    inputs: NDArray[Any],  # (rows, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the gradients of the weight rows and the biases in ``path_nodes.weight_rows``."""
    n_weight_rows = len(path_nodes.weight_rows)
    d_weight = np.empty((n_weight_rows, inputs.shape[1]), dtype=inputs.dtype)
    d_bias = np.empty(n_weight_rows, dtype=inputs.dtype)
    _weight_gradients(
        inputs,
        path_nodes.starts,
        path_nodes.rows,
        path_nodes.score_starts,
        path_nodes.weight_starts,
        d_scores,
        d_weight,
        d_bias,
    )
    return d_weight, d_bias


@vectorized
def _weight_gradients(
    inputs: NDArray[Any],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    score_starts: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    d_scores: NDArray[Any],
    d_weight: NDArray[Any],
    d_bias: NDArray[Any],
) -> None:
    # Eight pairs of a node at a time are added to all its weight rows, so that their inputs stay in the first-level
    # cache; then four, then one.
    for group in range(len(starts) - 1):
        first, arity = weight_starts[group], weight_starts[group + 1] - weight_starts[group]
        at, end, score_start = starts[group], starts[group + 1], score_starts[group]
        d_weight[first : first + arity] = 0
        while at + 8 <= end:
            vectors = (
                *(inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]),
                *(inputs[rows[at + 4]], inputs[rows[at + 5]], inputs[rows[at + 6]], inputs[rows[at + 7]]),
            )
            for j in range(arity):
                p = score_start + j
                scales = (
                    *(d_scores[p], d_scores[p + arity], d_scores[p + 2 * arity], d_scores[p + 3 * arity]),
                    *(
                        d_scores[p + 4 * arity],
                        d_scores[p + 5 * arity],
                        d_scores[p + 6 * arity],
                        d_scores[p + 7 * arity],
                    ),
                )
                add_scaled_8(d_weight[first + j], scales, vectors)
            at, score_start = at + 8, score_start + 8 * arity
        if at + 4 <= end:
            vectors_4 = inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]
            for j in range(arity):
                p = score_start + j
                scales_4 = d_scores[p], d_scores[p + arity], d_scores[p + 2 * arity], d_scores[p + 3 * arity]
                add_scaled_4(d_weight[first + j], scales_4, vectors_4)
            at, score_start = at + 4, score_start + 4 * arity
        for j in range(arity):
            for i in range(end - at):
                add_scaled(d_weight[first + j], d_scores[score_start + i * arity + j], inputs[rows[at + i]])
            total = d_bias.dtype.type(0)
            for p in range(score_starts[group] + j, score_starts[group + 1], arity):
                total += d_scores[p]
            d_bias[first + j] = total


def input_gradients(
    weight: NDArray[Any],  # (n_scores, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_rows: int,
) -> NDArray[Any]:  # (n_rows, in_features)
    """Return the gradient of each input, summed from the root down."""
    d_inputs = np.zeros((n_rows, weight.shape[1]), dtype=weight.dtype)
    _input_gradients(
        weight,
        path_nodes.weight_rows,
        path_nodes.weight_starts,
        path_nodes.starts,
        path_nodes.rows,
        path_nodes.score_starts,
        d_scores,
        d_inputs,
    )
    return d_inputs


@vectorized
def _input_gradients(
    weight: NDArray[Any],
    weight_rows: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    score_starts: NDArray[np.int64],
    d_scores: NDArray[Any],
    d_inputs: NDArray[Any],
) -> None:
    n_groups = len(starts) - 1
    for group in range(n_groups):
        prefetch_row(weight, weight_rows[weight_starts[min(group + _AHEAD, n_groups - 1)]])
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        start, end, score_start, n_blocked = starts[group], starts[group + 1], score_starts[group], arity // 8 * 8
        for begin in range(start, end, _TILE):
            stop = min(begin + _TILE, end)
            for j in range(0, n_blocked, 8):
                row = first + j
                vectors = (
                    *(weight[row], weight[row + 1], weight[row + 2], weight[row + 3]),
                    *(weight[row + 4], weight[row + 5], weight[row + 6], weight[row + 7]),
                )
                for at in range(begin, stop):
                    p = score_start + (at - start) * arity + j
                    scales = (
                        *(d_scores[p], d_scores[p + 1], d_scores[p + 2], d_scores[p + 3]),
                        *(d_scores[p + 4], d_scores[p + 5], d_scores[p + 6], d_scores[p + 7]),
                    )
                    add_scaled_8(d_inputs[rows[at]], scales, vectors)
            for j in range(n_blocked, arity):
                vector = weight[first + j]
                for at in range(begin, stop):
                    add_scaled(d_inputs[rows[at]], d_scores[score_start + (at - start) * arity + j], vector)
