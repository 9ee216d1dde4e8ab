"""The way of a batch through a tree of classifiers: which nodes its classes pass, and what the nodes say of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import dot, dot_4, dot_16, exp_of_negative, log1p_of_unit, prefetch_row
from sklearn_hashnlp.kernels._rows import group_rows

_AHEAD = 8  # nodes between asking for a weight and using it


class TreeWalk(NamedTuple):
    """A tree as the kernels read it: from the leaves up."""

    # (V, 2): the inner node that each class hangs from, and which of its branches the class is; -1 where there is no
    # node
    class_up: NDArray[np.int32]
    # (n_nodes, 2): the same for each inner node, whose number is larger than its parent's; -1 for the root
    node_up: NDArray[np.int32]
    # (n_nodes + 1,): node i owns the rows ``first_rows[i]`` to ``first_rows[i + 1]`` of the weight: one row if it has
    # two children, else one a child
    first_rows: NDArray[np.int64]
    depths: NDArray[np.int64]  # (V,): inner nodes on the path of each class


class Visits(NamedTuple):
    """Which inner nodes the paths of a batch's classes pass, node by node."""

    nodes: NDArray[np.int64]  # (n_groups,): the nodes that are passed, ascending
    starts: NDArray[np.int64]  # (n_groups + 1,): where the visits of each node begin, and the end
    rows: NDArray[np.int32]  # (n_visits,): row of the batch; the visits of one node ascend
    branches: NDArray[np.int32]  # (n_visits,): the branch that the row's class takes
    # (n_groups + 1,): where the scores of each node begin: those of its first visit, of its second, and so on
    places: NDArray[np.int64]
    weight_rows: NDArray[np.int64]  # (n_weight_rows,): all rows of the weight that the nodes own, ascending
    weight_starts: NDArray[np.int64]  # (n_groups + 1,): where in ``weight_rows`` each node begins, and the end


@compiled
def _climb(
    targets: NDArray[np.int64],
    class_up: NDArray[np.int32],
    node_up: NDArray[np.int32],
    nodes: NDArray[np.int32],
    rows: NDArray[np.int32],
    branches: NDArray[np.int32],
) -> None:
    at = 0
    for row in range(len(targets)):
        node, branch = class_up[targets[row], 0], class_up[targets[row], 1]
        while node >= 0:
            nodes[at], rows[at], branches[at] = node, row, branch
            at += 1
            node, branch = node_up[node, 0], node_up[node, 1]


@compiled
def _arrange(
    order: NDArray[np.int32],
    rows: NDArray[np.int32],
    branches: NDArray[np.int32],
    nodes: NDArray[np.int64],
    starts: NDArray[np.int64],
    first_rows: NDArray[np.int64],
    sorted_rows: NDArray[np.int32],
    sorted_branches: NDArray[np.int32],
    places: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
) -> None:
    for at in range(len(order)):
        sorted_rows[at], sorted_branches[at] = rows[order[at]], branches[order[at]]
    places[0] = weight_starts[0] = 0
    for group in range(len(nodes)):
        arity = first_rows[nodes[group] + 1] - first_rows[nodes[group]]
        places[group + 1] = places[group] + arity * (starts[group + 1] - starts[group])
        weight_starts[group + 1] = weight_starts[group] + arity


@compiled
def _list_rows(
    nodes: NDArray[np.int64],
    first_rows: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    weight_rows: NDArray[np.int64],
) -> None:
    for group in range(len(nodes)):
        first = first_rows[nodes[group]]
        for at in range(weight_starts[group], weight_starts[group + 1]):
            weight_rows[at] = first + at - weight_starts[group]


def visit_paths(
    targets: NDArray[np.int64],  # (rows,)
    walk: TreeWalk,
) -> Visits:
    """List the inner nodes between the root and each target, node by node."""
    n_visits = int(walk.depths[targets].sum())
    nodes, rows, branches, sorted_rows, sorted_branches = (np.empty(n_visits, dtype=np.int32) for _ in range(5))
    _climb(targets, walk.class_up, walk.node_up, nodes, rows, branches)
    order, starts, distinct = group_rows(nodes, len(walk.node_up))
    places, weight_starts = np.empty_like(starts), np.empty_like(starts)
    _arrange(
        order,
        rows,
        branches,
        distinct,
        starts,
        walk.first_rows,
        sorted_rows,
        sorted_branches,
        places,
        weight_starts,
    )
    weight_rows = np.empty(weight_starts[-1], dtype=np.int64)
    _list_rows(distinct, walk.first_rows, weight_starts, weight_rows)
    return Visits(distinct, starts, sorted_rows, sorted_branches, places, weight_rows, weight_starts)


@vectorized
def _add_products(
    inputs: NDArray[Any],
    weight: NDArray[Any],
    weight_rows: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    scores: NDArray[Any],
) -> None:
    # A node is a small matrix product, the inputs that visit it times its rows of the weight: in blocks of four by
    # four, and what is left over in smaller ones. How it is cut depends on the node alone.
    n_groups = len(starts) - 1
    for group in range(n_groups):
        prefetch_row(weight, weight_rows[weight_starts[min(group + _AHEAD, n_groups - 1)]])
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        start, end, place = starts[group], starts[group + 1], places[group]
        last, whole = end - (end - start) % 4, arity - arity % 4
        for at in range(start, last, 4):
            x_0, x_1, x_2, x_3 = inputs[rows[at]], inputs[rows[at + 1]], inputs[rows[at + 2]], inputs[rows[at + 3]]
            to_0 = place + (at - start) * arity
            to_1, to_2, to_3 = to_0 + arity, to_0 + 2 * arity, to_0 + 3 * arity
            for j in range(0, whole, 4):
                row = first + j
                sums = dot_16(x_0, x_1, x_2, x_3, weight[row], weight[row + 1], weight[row + 2], weight[row + 3])
                for i in range(4):
                    scores[to_0 + j + i] += sums[0][i]
                    scores[to_1 + j + i] += sums[1][i]
                    scores[to_2 + j + i] += sums[2][i]
                    scores[to_3 + j + i] += sums[3][i]
            for j in range(whole, arity):
                s_0, s_1, s_2, s_3 = dot_4(weight[first + j], x_0, x_1, x_2, x_3)
                scores[to_0 + j] += s_0
                scores[to_1 + j] += s_1
                scores[to_2 + j] += s_2
                scores[to_3 + j] += s_3
        for at in range(last, end):
            x, to = inputs[rows[at]], place + (at - start) * arity
            for j in range(0, whole, 4):
                row = first + j
                s_0, s_1, s_2, s_3 = dot_4(x, weight[row], weight[row + 1], weight[row + 2], weight[row + 3])
                scores[to + j] += s_0
                scores[to + j + 1] += s_1
                scores[to + j + 2] += s_2
                scores[to + j + 3] += s_3
            for j in range(whole, arity):
                scores[to + j] += dot(x, weight[first + j])


@compiled
def _add_bias(
    bias: NDArray[Any],
    weight_rows: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    scores: NDArray[Any],
) -> None:
    for group in range(len(starts) - 1):
        first, arity = weight_rows[weight_starts[group]], weight_starts[group + 1] - weight_starts[group]
        for place in range(places[group], places[group + 1], arity):
            for j in range(arity):
                scores[place + j] += bias[first + j]


def add_scores(
    inputs: NDArray[Any],  # (rows, in_features)
    weight: NDArray[Any],  # (n_scores, in_features)
    bias: NDArray[Any],  # (n_scores,)
    visits: Visits,
    scores: NDArray[Any],  # (n,)
) -> None:
    """Add to each score of the visited nodes its row of the weight times the visitor's input, and its bias."""
    whom = visits.weight_rows, visits.weight_starts, visits.starts
    _add_bias(bias, *whom, visits.places, scores)
    _add_products(inputs, weight, *whom, visits.rows, visits.places, scores)


@vectorized
def _decide_by_sigmoid(
    scores: NDArray[Any], branches: NDArray[np.int32], slopes: NDArray[Any], log_probs: NDArray[Any]
) -> None:
    for at in range(len(scores)):
        sign = 2.0 * branches[at] - 1.0
        score = sign * scores[at]
        small = exp_of_negative(-abs(score))
        log_probs[at] = min(score, 0.0) - log1p_of_unit(small)
        slopes[at] = sign * (small if score > 0 else 1.0) / (1.0 + small)


@vectorized
def _decide_by_softmax(
    scores: NDArray[Any], arity: int, branches: NDArray[np.int32], slopes: NDArray[Any], log_probs: NDArray[Any]
) -> None:
    for at in range(len(branches)):
        own, out = scores[at * arity : (at + 1) * arity], slopes[at * arity : (at + 1) * arity]
        highest = own[0]
        for j in range(1, arity):
            highest = own[j] if own[j] > highest else highest
        for j in range(arity):
            out[j] = exp_of_negative(own[j] - highest)
        total = 0.0
        for j in range(arity):
            total += out[j]
        log_probs[at] = own[branches[at]] - highest - np.log(total)
        share = -1.0 / total
        for j in range(arity):
            out[j] *= share
        out[branches[at]] += 1.0


@compiled
def _decide(
    nodes_arity: NDArray[np.int64],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    rows: NDArray[np.int32],
    branches: NDArray[np.int32],
    scores: NDArray[Any],
    slopes: NDArray[Any],
    steps: NDArray[Any],
    log_probs: NDArray[Any],
) -> None:
    group, n_groups = 0, len(starts) - 1
    while group < n_groups:
        begin, arity = group, nodes_arity[group + 1] - nodes_arity[group]
        group += 1
        while arity == 1 and group < n_groups and nodes_arity[group + 1] - nodes_arity[group] == 1:
            group += 1  # sigmoids in a row are one long loop
        first, last, start, end = places[begin], places[group], starts[begin], starts[group]
        own, out, step, branch = scores[first:last], slopes[first:last], steps[start:end], branches[start:end]
        if arity == 1:
            _decide_by_sigmoid(own, branch, out, step)
        else:
            _decide_by_softmax(own, arity, branch, out, step)
    for at in range(len(rows)):  # of a row, the root comes first
        log_probs[rows[at]] += steps[at]


def decide(
    scores: NDArray[Any],  # (n,)
    visits: Visits,
    n_rows: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the log-probability that each row goes where its class is, and how it changes with the scores."""
    log_probs, slopes = np.zeros(n_rows, dtype=scores.dtype), np.empty_like(scores)
    steps = np.empty(len(visits.rows), dtype=scores.dtype)
    _decide(
        visits.weight_starts,
        visits.starts,
        visits.places,
        visits.rows,
        visits.branches,
        scores,
        slopes,
        steps,
        log_probs,
    )
    return log_probs, slopes
