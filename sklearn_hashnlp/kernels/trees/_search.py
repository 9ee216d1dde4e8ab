"""Search of a hierarchical softmax from the root down: the most probable classes, the greedy one, a sampled one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, inner_vectorized
from sklearn_hashnlp.kernels._intrinsics import dot, dot_4, exp_of_negative, log1p_of_unit, prefetch_row
from sklearn_hashnlp.kernels.embeddings._hash_ids import mix_id, slot_of
from sklearn_hashnlp.kernels.trees._features import NODE_STEP

_STEP = np.uint64(NODE_STEP)
_LARGEST = np.finfo(np.float32).max


class TreeScorer(NamedTuple):
    """A tree as the kernels read it from the root down, and the parameters of its nodes."""

    children: NDArray[np.int64]  # (n_edges,): inner nodes, and classes as ``~class``
    offsets: NDArray[np.int64]  # (n_nodes + 1,): start of each node's children
    first_rows: NDArray[np.int64]  # (n_nodes + 1,): start of each node's weight rows
    weight: NDArray[Any]  # (n_scores, in_features)
    bias: NDArray[Any]  # (n_scores,)
    direct: NDArray[Any]  # (n_direct,): hashed direct connections; empty without them
    constants: NDArray[np.uint64]  # (2,): of the hash function
    max_scores: int  # the most scores of a node


@compiled
def search_best(
    inputs: NDArray[Any],  # (rows, in_features)
    features: NDArray[np.int64],  # (rows, n_features)
    scorer: TreeScorer,
    log_probs: NDArray[Any],  # (rows, k), or (rows, k + 1): filled, descending; the last is a bound for other classes
    classes: NDArray[np.int64],  # (rows, k): filled
) -> None:
    """Find the k most probable classes of each row by best-first search."""
    # No class below a node is more probable than the node, so a popped class is the most probable of the rest.
    n_classes = len(scorer.children) - (len(scorer.offsets) - 1) + 1
    keys, items = np.empty(n_classes + 1, dtype=np.float64), np.empty(n_classes + 1, dtype=np.int64)
    scores = np.empty(scorer.max_scores, dtype=inputs.dtype)
    for row in range(len(inputs)):
        keys[0], items[0], size, n_found = 0.0, 0, 1, 0
        while True:
            key, item = keys[0], items[0]
            size = _pop(keys, items, size)
            if item < 0:
                log_probs[row, n_found], classes[row, n_found] = key, ~item
                n_found += 1
                if n_found == classes.shape[1]:
                    if n_found < log_probs.shape[1]:
                        log_probs[row, n_found] = keys[0] if size > 0 else -_LARGEST
                    break
                continue
            first = scorer.offsets[item]
            n_scores = _score_node(inputs[row], features[row], item, scorer, scores)
            if n_scores == 1:
                score = np.float64(scores[0])
                log_total = log1p_of_unit(exp_of_negative(-abs(score)))
                left, right = scorer.children[first], scorer.children[first + 1]
                size = _push(keys, items, size, key + min(-score, 0.0) - log_total, left)
                size = _push(keys, items, size, key + min(score, 0.0) - log_total, right)
                # One of both is likely to be popped next.
                prefetch_row(scorer.weight, scorer.first_rows[max(left, 0)])
                prefetch_row(scorer.weight, scorer.first_rows[max(right, 0)])
            else:
                _log_softmax(scores[:n_scores])
                for j in range(n_scores):
                    size = _push(keys, items, size, key + min(scores[j], 0.0), scorer.children[first + j])


@compiled
def descend(
    inputs: NDArray[Any],  # (rows, in_features)
    features: NDArray[np.int64],  # (rows, n_features)
    scorer: TreeScorer,
    draws: NDArray[np.float64],  # (rows,): uniform in [0, 1), or (0,) for the most probable branch, the first at a tie
    classes: NDArray[np.int64],  # (rows,): filled
) -> None:
    """Descend from the root to one class for each row."""
    # Take the branch whose interval of probability contains the draw; the position in the interval is the next draw.
    scores = np.empty(scorer.max_scores, dtype=inputs.dtype)
    one = inputs.dtype.type(1)
    greedy = len(draws) == 0
    for row in range(len(inputs)):
        draw = 0.0 if greedy else draws[row]
        item = np.int64(0)
        while item >= 0:
            n_scores = _score_node(inputs[row], features[row], item, scorer, scores)
            branch = 0
            if n_scores == 1:
                right = one / (one + np.exp(-scores[0]))
                if greedy:
                    branch = 1 if right > 0.5 else 0
                else:
                    left = 1.0 / (1.0 + np.exp(np.float64(scores[0])))
                    branch = 1 if draw >= left else 0
                    draw = (draw - left) / (1.0 - left) if branch == 1 else draw / left
            elif greedy:
                for j in range(1, n_scores):
                    branch = j if scores[j] > scores[branch] else branch
            else:
                _log_softmax(scores[:n_scores])
                probability = np.exp(np.float64(scores[0]))
                while draw >= probability and branch < n_scores - 1:
                    draw -= probability
                    branch += 1
                    probability = np.exp(np.float64(scores[branch]))
                draw = draw / probability if probability > 0.0 else 0.0
            draw = min(draw, 1.0 - 2.0**-53)
            item = scorer.children[scorer.offsets[item] + branch]
        classes[row] = ~item


@inner_vectorized
def _score_node(
    x: NDArray[Any], features: NDArray[np.int64], node: Number, scorer: TreeScorer, scores: NDArray[Any]
) -> Number:
    first, n_scores = scorer.first_rows[node], scorer.first_rows[node + 1] - scorer.first_rows[node]
    weight, n_blocked = scorer.weight, n_scores // 4 * 4
    for j in range(0, n_blocked, 4):
        row = first + j
        sums = dot_4(x, weight[row], weight[row + 1], weight[row + 2], weight[row + 3], scores)
        for i in range(4):
            scores[j + i] = sums[i] + scorer.bias[row + i]
    for j in range(n_blocked, n_scores):
        scores[j] = dot(x, weight[first + j], scores) + scorer.bias[first + j]
    n_slots = len(scorer.direct)
    for feature in features:
        if feature >= 0:
            key = mix_id(feature) + np.uint64(node) * _STEP
            slot = slot_of(mix_id(key), scorer.constants[0], scorer.constants[1], np.uint64(n_slots))
            before_end = min(n_scores, n_slots - slot)
            for j in range(before_end):
                scores[j] += scorer.direct[slot + j]
            for j in range(before_end, n_scores):  # wraps around
                scores[j] += scorer.direct[(slot + j) % n_slots]
    return n_scores


@inner_vectorized
def _log_softmax(scores: NDArray[Any]) -> None:
    largest = scores[0]
    for j in range(1, len(scores)):
        largest = scores[j] if scores[j] > largest else largest
    total = 0.0
    for j in range(len(scores)):
        total += exp_of_negative(scores[j] - largest)
    largest += np.log(total)
    for j in range(len(scores)):
        scores[j] -= largest


@inlined
def _push(keys: NDArray[np.float64], items: NDArray[np.int64], size: Number, key: Number, item: Number) -> Number:
    """Push an item onto a max-heap of ``size`` items; return the new size."""
    at = size
    while at > 0 and keys[(at - 1) >> 1] < key:
        keys[at], items[at] = keys[(at - 1) >> 1], items[(at - 1) >> 1]
        at = (at - 1) >> 1
    keys[at], items[at] = key, item
    return size + 1


@inlined
def _pop(keys: NDArray[np.float64], items: NDArray[np.int64], size: Number) -> Number:
    """Pop the first item of a max-heap of ``size`` items; return the new size."""
    last = size - 1
    key, item, at = keys[last], items[last], 0
    while True:
        child = 2 * at + 1
        if child + 1 < last and keys[child + 1] > keys[child]:
            child += 1
        if child >= last or keys[child] <= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item
    return last
