"""Forward and backward pass of a hierarchical softmax over the nodes on the paths of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled, inner_vectorized, vectorized
from sklearn_hashnlp.kernels._intrinsics import (
    add_scaled,
    add_scaled_4,
    add_scaled_8,
    dot,
    dot_4,
    dot_16,
    exp_of_negative,
    in_huge_pages,
    log1p_of_unit,
    prefetch_row,
)
from sklearn_hashnlp.kernels._rows import group_rows

_AHEAD = 8  # nodes between the prefetch of a weight and its use
_TILE = 16  # inputs whose gradients stay in the first-level cache while all weight rows of a node are added


class UpwardTree(NamedTuple):
    """A tree as the kernels read it from the leaves up."""

    class_up: NDArray[np.int32]  # (V, 2): parent and branch of each class, or -1 without an inner node
    node_up: NDArray[np.int32]  # (n_nodes, 2): parent and branch of each inner node; -1 for the root
    # (n_nodes + 1,): node i has the weight rows first_rows[i] .. first_rows[i + 1], one if it has two children, else
    # one for each child.
    first_rows: NDArray[np.int64]
    depths: NDArray[np.int64]  # (V,): number of inner nodes on the path of each class


class PathNodes(NamedTuple):
    """The inner nodes on the paths of a batch's classes: pairs of a node and a row, grouped by node."""

    nodes: NDArray[np.int64]  # (n_groups,): the nodes, ascending
    starts: NDArray[np.int64]  # (n_groups + 1,): start of the pairs of each node, and the end
    rows: NDArray[np.int32]  # (n_pairs,): row of the batch, ascending within a node
    branches: NDArray[np.int32]  # (n_pairs,): branch on the path to the row's class
    score_starts: NDArray[np.int64]  # (n_groups + 1,): start of the scores of each node, pair by pair
    weight_rows: NDArray[np.int64]  # (n_weight_rows,): the weight rows of the nodes, ascending
    weight_starts: NDArray[np.int64]  # (n_groups + 1,): start of each node in ``weight_rows``, and the end


@compiled
def find_path_nodes(
    targets: NDArray[np.int64],  # (rows,)
    tree: UpwardTree,
) -> PathNodes:
    """Find the inner nodes on the path from the root to each target."""
    class_up, node_up, first_rows = tree.class_up, tree.node_up, tree.first_rows
    n_pairs = 0
    for row in range(len(targets)):
        n_pairs += tree.depths[targets[row]]
    pair_nodes, pair_rows = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int32)
    pair_branches = np.empty(n_pairs, dtype=np.int32)
    at = 0
    for row in range(len(targets)):
        node, branch = class_up[targets[row], 0], class_up[targets[row], 1]
        while node >= 0:
            pair_nodes[at], pair_rows[at], pair_branches[at] = node, row, branch
            at += 1
            node, branch = node_up[node, 0], node_up[node, 1]
    order, starts, nodes = group_rows(pair_nodes, len(node_up))
    rows, branches = np.empty_like(pair_rows), np.empty_like(pair_branches)
    for at in range(n_pairs):
        rows[at], branches[at] = pair_rows[order[at]], pair_branches[order[at]]
    score_starts, weight_starts = np.zeros_like(starts), np.zeros_like(starts)
    for group in range(len(nodes)):
        arity = first_rows[nodes[group] + 1] - first_rows[nodes[group]]
        score_starts[group + 1] = score_starts[group] + arity * (starts[group + 1] - starts[group])
        weight_starts[group + 1] = weight_starts[group] + arity
    weight_rows = np.empty(weight_starts[len(nodes)], dtype=np.int64)
    for group in range(len(nodes)):
        for at in range(weight_starts[group], weight_starts[group + 1]):
            weight_rows[at] = first_rows[nodes[group]] + at - weight_starts[group]
    return PathNodes(nodes, starts, rows, branches, score_starts, weight_rows, weight_starts)


def add_scores(
    inputs: NDArray[Any],  # (rows, in_features)
    weight: NDArray[Any],  # (n_scores, in_features)
    bias: NDArray[Any],  # (n_scores,)
    path_nodes: PathNodes,
    scores: NDArray[Any],  # (n,): in the order of ``path_nodes.score_starts``
    *,
    is_steady: bool = False,
) -> None:
    """Add bias and dot product to each score; if steady, a row's float32 scores do not depend on other rows."""
    # Blocks of different sizes may sum in different orders. In float64 the rounding to float32 removes the difference.
    sums = np.empty(0, dtype=np.float64) if is_steady else scores
    _add_bias(bias, path_nodes, scores)
    _add_products(inputs, weight, path_nodes, scores, sums)


@compiled
def _add_bias(bias: NDArray[Any], path_nodes: PathNodes, scores: NDArray[Any]) -> None:
    weight_rows, weight_starts, score_starts = path_nodes.weight_rows, path_nodes.weight_starts, path_nodes.score_starts
    for group in range(len(weight_starts) - 1):
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        for score_start in range(score_starts[group], score_starts[group + 1], arity):
            for j in range(arity):
                scores[score_start + j] += bias[first + j]


@vectorized
def _add_products(
    inputs: NDArray[Any], weight: NDArray[Any], path_nodes: PathNodes, scores: NDArray[Any], sums: NDArray[Any]
) -> None:
    # A node is a small matrix product of the inputs of its pairs with its weight rows: in blocks of four by four, and
    # the rest in smaller ones. The blocks only depend on the node.
    starts, rows, score_starts = path_nodes.starts, path_nodes.rows, path_nodes.score_starts
    weight_rows, weight_starts = path_nodes.weight_rows, path_nodes.weight_starts
    n_groups = len(starts) - 1
    for group in range(n_groups):
        prefetch_row(weight, weight_rows[weight_starts[min(group + _AHEAD, n_groups - 1)]])
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        start, end, score_start = starts[group], starts[group + 1], score_starts[group]
        blocked_end, n_blocked = end - (end - start) % 4, arity - arity % 4
        for at in range(start, blocked_end, 4):
            x_0, x_1, x_2, x_3 = inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]
            out_0 = score_start + (at - start) * arity
            out_1, out_2, out_3 = out_0 + arity, out_0 + 2 * arity, out_0 + 3 * arity
            for j in range(0, n_blocked, 4):
                row = first + j
                w_0, w_1, w_2, w_3 = weight[row], weight[row + 1], weight[row + 2], weight[row + 3]
                block = dot_16(x_0, x_1, x_2, x_3, w_0, w_1, w_2, w_3, sums)
                for i in range(4):
                    scores[out_0 + j + i] += block[0][i]
                    scores[out_1 + j + i] += block[1][i]
                    scores[out_2 + j + i] += block[2][i]
                    scores[out_3 + j + i] += block[3][i]
            for j in range(n_blocked, arity):
                s_0, s_1, s_2, s_3 = dot_4(weight[first + j], x_0, x_1, x_2, x_3, sums)
                scores[out_0 + j] += s_0
                scores[out_1 + j] += s_1
                scores[out_2 + j] += s_2
                scores[out_3 + j] += s_3
        for at in range(blocked_end, end):
            x, out = inputs[rows[at]], score_start + (at - start) * arity
            for j in range(0, n_blocked, 4):
                row = first + j
                s_0, s_1, s_2, s_3 = dot_4(x, weight[row], weight[row + 1], weight[row + 2], weight[row + 3], sums)
                scores[out + j] += s_0
                scores[out + j + 1] += s_1
                scores[out + j + 2] += s_2
                scores[out + j + 3] += s_3
            for j in range(n_blocked, arity):
                scores[out + j] += dot(x, weight[first + j], sums)


@compiled
def sum_log_probs(
    scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_rows: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the log-probability of each row's class, and its derivatives by the row's scores."""
    starts, rows, branches = path_nodes.starts, path_nodes.rows, path_nodes.branches
    score_starts, weight_starts = path_nodes.score_starts, path_nodes.weight_starts
    log_probs, derivatives = np.zeros(n_rows, dtype=scores.dtype), np.empty_like(scores)
    branch_log_probs = np.empty(len(rows), dtype=scores.dtype)
    group, n_groups = 0, len(starts) - 1
    while group < n_groups:
        begin, arity = group, weight_starts[group + 1] - weight_starts[group]
        group += 1
        while arity == 1 and group < n_groups and weight_starts[group + 1] - weight_starts[group] == 1:
            group += 1  # neighboring sigmoids are one long loop
        first, last, start, end = score_starts[begin], score_starts[group], starts[begin], starts[group]
        own_scores, own_derivatives = scores[first:last], derivatives[first:last]
        own_log_probs, own_branches = branch_log_probs[start:end], branches[start:end]
        if arity == 1:
            _log_sigmoid(own_scores, own_branches, own_derivatives, own_log_probs)
        else:
            _log_softmax(own_scores, arity, own_branches, own_derivatives, own_log_probs)
    for at in range(len(rows)):  # the root of each row comes first
        log_probs[rows[at]] += branch_log_probs[at]
    return log_probs, derivatives


@inner_vectorized
def _log_sigmoid(
    scores: NDArray[Any], branches: NDArray[np.int32], derivatives: NDArray[Any], log_probs: NDArray[Any]
) -> None:
    for at in range(len(scores)):
        sign = 2.0 * branches[at] - 1.0
        score = sign * scores[at]
        exp_score = exp_of_negative(-abs(score))
        log_probs[at] = min(score, 0.0) - log1p_of_unit(exp_score)
        derivatives[at] = sign * (exp_score if score > 0 else 1.0) / (1.0 + exp_score)


@inner_vectorized
def _log_softmax(
    scores: NDArray[Any], arity: int, branches: NDArray[np.int32], derivatives: NDArray[Any], log_probs: NDArray[Any]
) -> None:
    for at in range(len(branches)):
        own_scores, own_derivatives = scores[at * arity : (at + 1) * arity], derivatives[at * arity : (at + 1) * arity]
        largest = own_scores[0]
        for j in range(1, arity):
            largest = own_scores[j] if own_scores[j] > largest else largest
        for j in range(arity):
            own_derivatives[j] = exp_of_negative(own_scores[j] - largest)
        total = 0.0
        for j in range(arity):
            total += own_derivatives[j]
        log_probs[at] = own_scores[branches[at]] - largest - np.log(total)
        share = -1.0 / total
        for j in range(arity):
            own_derivatives[j] *= share
        own_derivatives[branches[at]] += 1.0


@compiled
def score_gradients(
    gradients: NDArray[Any],  # (rows,): of the log-probabilities
    derivatives: NDArray[Any],  # (n,): as :func:`sum_log_probs` returns them
    path_nodes: PathNodes,
) -> NDArray[Any]:  # (n,)
    """Return the gradient of each score."""
    starts, rows, score_starts = path_nodes.starts, path_nodes.rows, path_nodes.score_starts
    d_scores = np.empty_like(derivatives)
    for group in range(len(starts) - 1):
        score_start = score_starts[group]
        arity = (score_starts[group + 1] - score_start) // (starts[group + 1] - starts[group])
        for at in range(starts[group], starts[group + 1]):
            gradient = gradients[rows[at]]
            for j in range(score_start, score_start + arity):
                d_scores[j] = gradient * derivatives[j]
            score_start += arity
    return d_scores


@vectorized
def weight_gradients(
    inputs: NDArray[Any],  # (rows, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the gradients of the weight rows and the biases in ``path_nodes.weight_rows``."""
    # Eight pairs of a node at a time are added to all its weight rows, so that their inputs stay in the first-level
    # cache; then four, then one.
    starts, rows, score_starts = path_nodes.starts, path_nodes.rows, path_nodes.score_starts
    weight_starts, n_weight_rows = path_nodes.weight_starts, len(path_nodes.weight_rows)
    d_weight = in_huge_pages(np.empty((n_weight_rows, inputs.shape[1]), inputs.dtype))
    d_bias = np.empty(n_weight_rows, dtype=inputs.dtype)
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
    return d_weight, d_bias


@vectorized
def input_gradients(
    weight: NDArray[Any],  # (n_scores, in_features)
    d_scores: NDArray[Any],  # (n,)
    path_nodes: PathNodes,
    n_rows: int,
) -> NDArray[Any]:  # (n_rows, in_features)
    """Return the gradient of each input, summed from the root down."""
    starts, rows, score_starts = path_nodes.starts, path_nodes.rows, path_nodes.score_starts
    weight_rows, weight_starts = path_nodes.weight_rows, path_nodes.weight_starts
    d_inputs = in_huge_pages(np.empty((n_rows, weight.shape[1]), weight.dtype))
    d_inputs[:] = 0
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
    return d_inputs
