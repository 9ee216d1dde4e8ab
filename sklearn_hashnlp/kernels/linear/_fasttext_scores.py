"""fastText's classifiers: means of rows, and the scores or the most probable labels of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled
from sklearn_hashnlp.kernels._intrinsics import prefetch_row
from sklearn_hashnlp.kernels._ragged import Ragged

SOFTMAX, ONE_VS_ALL, TREE = 0, 1, 2

SIGMOID_STEPS, SIGMOID_LIMIT = 512, 8
"""fastText's table of the sigmoid: its number of steps, and the scores from minus to plus that it covers."""

_AHEAD = 16  # rows between the prefetch of a row and its use


class FastTextInput(NamedTuple):
    """The input matrix: its rows, or where it is quantized their codes; the unused arrays are empty."""

    rows: NDArray[np.float32]  # (n_rows, d)
    codes: NDArray[np.uint8]  # (n_rows, n_parts)
    centroids: NDArray[np.float32]  # (256, d): of the parts, side by side
    part: int  # columns of a part; the last may have fewer
    norm_codes: NDArray[np.uint8]  # (n_rows,), or empty
    norms: NDArray[np.float32]  # (256,), or empty


class FastTextOutput(NamedTuple):
    """The output matrix, and the tree of a hierarchical softmax."""

    kind: int  # SOFTMAX, ONE_VS_ALL or TREE
    weight: NDArray[np.float32]  # (n_labels, d); of a tree a row for each inner node, and one that is not used
    transposed: NDArray[np.float32]  # (d, n_labels)
    children: NDArray[np.int32]  # (n_labels - 1, 2) for a tree: labels, or n_labels + inner node; the root is the last


def mean_vectors(inputs: FastTextInput, rows: Ragged, vectors: NDArray[np.float32]) -> None:  # (n_documents, d)
    """Write the mean of the rows of each document, or zeros where there are none."""
    _mean_vectors(inputs, rows.values, rows.offsets, vectors)


def fasttext_scores(
    inputs: FastTextInput,
    output: FastTextOutput,
    rows: Ragged,
    scores: NDArray[np.float32],  # (n_documents, n_labels): logits, or of a tree log-probabilities
) -> bool:
    """Write the scores of documents; return whether all are finite."""
    return bool(_score(inputs, output, rows.values, rows.offsets, scores))


def fasttext_labels(inputs: FastTextInput, output: FastTextOutput, rows: Ragged, labels: NDArray[np.int64]) -> bool:
    """Write the index of the most probable label of documents; return whether all scores are finite.

    Of equal probabilities the last counts, as in fastText; of a document without rows the first label.
    """
    return bool(_find_labels(inputs, output, rows.values, rows.offsets, labels))


def quantized_sigmoid(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sigmoids of scores from fastText's table, which is in error by up to 0.008."""
    step = np.arange(SIGMOID_STEPS + 1, dtype=np.float64) * (2 * SIGMOID_LIMIT / SIGMOID_STEPS) - SIGMOID_LIMIT
    table = np.concatenate([[0.0], 1 / (1 + np.exp(-step)), [1.0]])
    with np.errstate(invalid="ignore", over="ignore"):  # of scores outside of the table
        at = ((scores + np.float32(SIGMOID_LIMIT)) * np.float32(SIGMOID_STEPS / (2 * SIGMOID_LIMIT))).astype(np.int64)
    at = np.where(scores < -SIGMOID_LIMIT, -1, np.where(scores > SIGMOID_LIMIT, SIGMOID_STEPS + 1, at))
    return np.asarray(table[at + 1])


@compiled
def _mean_vector(
    inputs: FastTextInput, rows: NDArray[np.int32], start: Number, stop: Number, vector: NDArray[np.float32]
) -> None:
    """Compute the mean of some rows, in float32 and in their order, as fastText does."""
    vector[:] = np.float32(0)
    if start == stop:
        return
    width, part = len(vector), inputs.part
    if len(inputs.codes) == 0:
        for i in range(start, stop):
            prefetch_row(inputs.rows, np.int64(rows[min(i + _AHEAD, stop - 1)]))
            row = rows[i]
            for column in range(width):
                vector[column] += inputs.rows[row, column]
    else:
        for i in range(start, stop):
            prefetch_row(inputs.codes, np.int64(rows[min(i + _AHEAD, stop - 1)]))
            row = rows[i]
            norm = inputs.norms[inputs.norm_codes[row]] if len(inputs.norm_codes) > 0 else np.float32(1)
            for p in range(inputs.codes.shape[1]):
                code = inputs.codes[row, p]
                for column in range(p * part, min((p + 1) * part, width)):
                    vector[column] += norm * inputs.centroids[code, column]
    share = np.float32(1.0 / (stop - start))
    for column in range(width):
        vector[column] *= share


@compiled
def _mean_vectors(
    inputs: FastTextInput, rows: NDArray[np.int32], offsets: NDArray[np.int64], vectors: NDArray[np.float32]
) -> None:
    for document in range(len(vectors)):
        _mean_vector(inputs, rows, offsets[document], offsets[document + 1], vectors[document])


@compiled
def _products(vector: NDArray[np.float32], transposed: NDArray[np.float32], scores: NDArray[np.float32]) -> None:
    """Compute the product with each row of the output matrix, each sum in the order of the columns."""
    scores[:] = np.float32(0)
    for column in range(len(vector)):
        value = vector[column]
        for label in range(len(scores)):
            scores[label] += value * transposed[column, label]


@compiled
def _log_sigmoid(score: Number) -> Number:
    return -np.log1p(np.exp(-score)) if score >= 0 else score - np.log1p(np.exp(score))


@compiled
def _score(
    inputs: FastTextInput,
    output: FastTextOutput,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> bool:
    n_labels = scores.shape[1]
    vector = np.empty(inputs.centroids.shape[1], dtype=np.float32)
    products = np.empty(n_labels, dtype=np.float32)
    logs = np.zeros(2 * n_labels, dtype=np.float64)
    finite = True
    for document in range(len(scores)):
        _mean_vector(inputs, rows, offsets[document], offsets[document + 1], vector)
        _products(vector, output.transposed, products)
        for label in range(n_labels):
            finite &= np.isfinite(products[label])
        if output.kind != TREE:
            scores[document] = products
            continue
        for node in range(n_labels - 2, -1, -1):  # a parent has a larger index than its children
            score, log = np.float64(products[node]), logs[n_labels + node] if node < n_labels - 2 else 0.0
            logs[output.children[node, 0]] = log + _log_sigmoid(-score)
            logs[output.children[node, 1]] = log + _log_sigmoid(score)
        for label in range(n_labels):
            scores[document, label] = logs[label]
    return finite


@compiled
def _rank(kind: Number, score: Number) -> Number:
    """Return what probabilities are compared by: the score, or its place in the table of the sigmoid."""
    limit = np.float32(SIGMOID_LIMIT)
    if kind != ONE_VS_ALL:
        return score
    if score < -limit:
        return np.float32(-1)
    if score > limit:
        return np.float32(SIGMOID_STEPS + 1)
    return np.float32(np.floor((score + limit) * np.float32(SIGMOID_STEPS / (2 * SIGMOID_LIMIT))))


@compiled
def _find_labels(
    inputs: FastTextInput,
    output: FastTextOutput,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> bool:
    n_labels = output.transposed.shape[1]
    vector = np.empty(inputs.centroids.shape[1], dtype=np.float32)
    products = np.empty(n_labels, dtype=np.float32)
    stack, stacked = np.empty(2 * n_labels, dtype=np.int64), np.empty(2 * n_labels, dtype=np.float64)
    finite = True
    for document in range(len(labels)):
        labels[document] = 0
        if offsets[document] == offsets[document + 1]:
            continue
        _mean_vector(inputs, rows, offsets[document], offsets[document + 1], vector)
        if output.kind == TREE:
            labels[document] = _search(output, vector, stack, stacked)
            continue
        _products(vector, output.transposed, products)
        best = _rank(output.kind, products[0])
        for label in range(n_labels):
            finite &= np.isfinite(products[label])
            rank = _rank(output.kind, products[label])
            if rank >= best:
                best = rank
                labels[document] = label
    return finite


@compiled
def _search(
    output: FastTextOutput, vector: NDArray[np.float32], stack: NDArray[np.int64], stacked: NDArray[np.float64]
) -> Number:
    """Find the most probable label in a tree, without the branches that are less probable than one that is known."""
    n_labels = output.transposed.shape[1]
    label, best = 0, -np.inf
    stack[0], stacked[0] = 2 * n_labels - 2, 0.0
    size = 1
    while size > 0:
        size -= 1
        node, log = stack[size], stacked[size]
        if log < best:
            continue
        if node < n_labels:
            label, best = node, log
            continue
        score = np.float32(0)
        for column in range(len(vector)):
            score += vector[column] * output.weight[node - n_labels, column]
        left, right = output.children[node - n_labels, 0], output.children[node - n_labels, 1]
        stack[size], stacked[size] = right, log + _log_sigmoid(np.float64(score))
        stack[size + 1], stacked[size + 1] = left, log + _log_sigmoid(-np.float64(score))
        size += 2
    return label
