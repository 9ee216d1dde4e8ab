"""From the root of a tree of classifiers to classes: the most probable ones, greedily chosen ones, drawn ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined, vectorized
from sklearn_hashnlp.kernels._hash_ids import mix_id, slot_of
from sklearn_hashnlp.kernels._intrinsics import dot, dot_4, exp_of_negative, log1p_of_unit, prefetch_row
from sklearn_hashnlp.kernels._tree_features import NODE_STEP

_STEP = np.uint64(NODE_STEP)


class TreeScorer(NamedTuple):
    """A tree as the kernels read it from the root down, and the parameters of its nodes."""

    children: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first_rows: NDArray[np.int64]  # (n_nodes + 1,): where each node's rows of the weight begin
    weight: NDArray[Any]  # (n_scores, in_features): a row a score
    bias: NDArray[Any]  # (n_scores,): a number a score
    direct: NDArray[Any]  # (n_direct,): hashed direct connections; empty if there are none
    constants: NDArray[np.uint64]  # (2,): of the hash function
    most_scores: int  # as many as one node has


@vectorized
def _score_node(
    x: NDArray[Any], features: NDArray[np.int64], node: Number, scorer: TreeScorer, scores: NDArray[Any]
) -> Number:
    first, n_scores = scorer.first_rows[node], scorer.first_rows[node + 1] - scorer.first_rows[node]
    weight, whole = scorer.weight, n_scores // 4 * 4
    for j in range(0, whole, 4):
        row = first + j
        sums = dot_4(x, weight[row], weight[row + 1], weight[row + 2], weight[row + 3])
        for i in range(4):
            scores[j + i] = sums[i] + scorer.bias[row + i]
    for j in range(whole, n_scores):
        scores[j] = dot(x, weight[first + j]) + scorer.bias[first + j]
    n_slots = len(scorer.direct)
    for feature in features:
        if feature >= 0:
            key = mix_id(feature) + np.uint64(node) * _STEP
            slot = slot_of(mix_id(key), scorer.constants[0], scorer.constants[1], np.uint64(n_slots))
            before_end = min(n_scores, n_slots - slot)
            for j in range(before_end):
                scores[j] += scorer.direct[slot + j]
            for j in range(before_end, n_scores):  # round to the beginning
                scores[j] += scorer.direct[(slot + j) % n_slots]
    return n_scores


@vectorized
def _log_softmax(scores: NDArray[Any]) -> None:
    highest = scores[0]
    for j in range(1, len(scores)):
        highest = scores[j] if scores[j] > highest else highest
    total = 0.0
    for j in range(len(scores)):
        total += exp_of_negative(scores[j] - highest)
    highest += np.log(total)
    for j in range(len(scores)):
        scores[j] -= highest


@inlined
def _push(keys: NDArray[np.float64], items: NDArray[np.int64], size: Number, key: Number, item: Number) -> Number:
    """Put an item into a heap of ``size`` items whose greatest key is the first."""
    at = size
    while at > 0 and keys[(at - 1) >> 1] < key:
        keys[at], items[at] = keys[(at - 1) >> 1], items[(at - 1) >> 1]
        at = (at - 1) >> 1
    keys[at], items[at] = key, item
    return size + 1


@inlined
def _pop(keys: NDArray[np.float64], items: NDArray[np.int64], size: Number) -> Number:
    """Take the first item out of a heap of ``size`` items."""
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


@compiled
def search_best(
    inputs: NDArray[Any],  # (rows, in_features)
    features: NDArray[np.int64],  # (rows, n_features)
    scorer: TreeScorer,
    log_probs: NDArray[Any],  # (rows, k)
    classes: NDArray[np.int64],  # (rows, k)
) -> None:
    """Find the most probable classes of each row, best first."""
    n_classes = len(scorer.children) - (len(scorer.offsets) - 1) + 1
    keys, items = np.empty(n_classes + 1, dtype=np.float64), np.empty(n_classes + 1, dtype=np.int64)
    scores = np.empty(scorer.most_scores, dtype=inputs.dtype)
    for row in range(len(inputs)):
        keys[0], items[0], size, found = 0.0, 0, 1, 0
        while True:
            key, item = keys[0], items[0]
            size = _pop(keys, items, size)
            if item < 0:
                log_probs[row, found], classes[row, found] = key, ~item
                found += 1
                if found == log_probs.shape[1]:
                    break
                continue
            first = scorer.offsets[item]
            n_scores = _score_node(inputs[row], features[row], item, scorer, scores)
            if n_scores == 1:
                score = np.float64(scores[0])
                slack = log1p_of_unit(exp_of_negative(-abs(score)))
                left, right = scorer.children[first], scorer.children[first + 1]
                size = _push(keys, items, size, key + min(-score, 0.0) - slack, left)
                size = _push(keys, items, size, key + min(score, 0.0) - slack, right)
                # One of them is likely to be next.
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
    draws: NDArray[np.float64],  # (rows,) or (0,)
    classes: NDArray[np.int64],  # (rows,)
) -> None:
    """Walk from the root to one class for each row."""
    scores = np.empty(scorer.most_scores, dtype=inputs.dtype)
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
                share = np.exp(np.float64(scores[0]))
                while draw >= share and branch < n_scores - 1:
                    draw -= share
                    branch += 1
                    share = np.exp(np.float64(scores[branch]))
                draw = draw / share if share > 0.0 else 0.0
            draw = min(draw, 1.0 - 2.0**-53)
            item = scorer.children[scorer.offsets[item] + branch]
        classes[row] = ~item
