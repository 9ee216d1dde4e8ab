"""What a sentence encoder learns of words before it learns of sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.nn import SGNNTransformer

_BLOCK = 2**13  # words whose projections are looked at at once
_POWER = 0.25  # of a word's count, for how much it counts: rare words' targets are less sure
_RIDGE = 1.0


def learn_words(
    transformer: SGNNTransformer,
    projections: CachedProjections,
    numbers: NDArray[np.int64],
    targets: NDArray[np.float32],
    counts: NDArray[np.int64],
    *,
    n_steps: int,
    verbose: int = 0,
) -> list[float]:
    """Let word vectors become what the company of the words says, by least squares."""
    weights = counts.astype(np.float64) ** _POWER
    weights = (weights / weights.mean()).astype(np.float32)[:, np.newaxis]
    scale = math.sqrt(transformer.width)
    # Threads of BLAS split sums, and their number would change the last bits.
    with threadpool_limits(limits=1):
        matrix, rest = _solve_linear(projections, numbers, targets, weights)
        distances = [_mean_square(rest, weights)]
        _tell(distances, verbose)
        with torch.no_grad():
            transformer.linear.weight.copy_(torch.from_numpy(matrix.T * scale))
        if transformer.tables is None:
            return distances
        design, used = _which_rows(transformer, projections, numbers)
        table = np.zeros((design.shape[1], rest.shape[1]), dtype=np.float32)
        back = csr_array(design.T)
        gradient = back @ (weights * rest)
        direction, square = gradient.copy(), np.square(gradient).sum(axis=0)
        for _ in range(n_steps):
            through = design @ direction
            image = back @ (weights * through) + np.float32(_RIDGE) * direction
            # A column that is solved has nowhere to go.
            step = square / np.maximum((direction * image).sum(axis=0), np.finfo(np.float32).tiny)
            table += step * direction
            rest -= step * through
            gradient -= step * image
            before, square = square, np.square(gradient).sum(axis=0)
            direction = gradient + square / np.maximum(before, np.finfo(np.float32).tiny) * direction
            distances.append(_mean_square(rest, weights))
            _tell(distances, verbose)
    with torch.no_grad():
        rows = transformer.tables.tables.weight
        rows[torch.from_numpy(used).to(rows.device)] = torch.from_numpy(table * np.float32(scale)).to(rows.device)
    return distances


def _solve_linear(
    projections: CachedProjections, numbers: NDArray[np.int64], targets: NDArray[np.float32], weights: NDArray[Any]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the ridge regression of the targets on the projections, and what it leaves."""
    n_features = projections.n_features
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(numbers), _BLOCK)]
    moment, cross = _RIDGE * np.eye(n_features), np.zeros((n_features, targets.shape[1]))
    for block in blocks:
        rows = projections.rows(numbers[block])
        weighted = (weights[block] * rows).T
        moment += weighted @ rows
        cross += weighted @ targets[block]
    matrix = np.linalg.solve(moment, cross).astype(np.float32)
    left = [targets[block] - projections.rows(numbers[block]) @ matrix for block in blocks]
    return matrix, np.concatenate(left)


def _which_rows(
    transformer: SGNNTransformer, projections: CachedProjections, numbers: NDArray[np.int64]
) -> tuple[csr_array, NDArray[np.int64]]:
    """Return a matrix of ones where a word has a row, of those rows that any word has, and which these are."""
    assert transformer.tables is not None
    found = [
        transformer.tables.buckets(torch.from_numpy(projections.rows(numbers[start : start + _BLOCK]))).numpy()
        for start in range(0, len(numbers), _BLOCK)
    ]
    used, columns = np.unique(np.concatenate(found), return_inverse=True)
    n_tables = transformer.tables.n_tables
    offsets = np.arange(0, len(numbers) * n_tables + 1, n_tables)
    ones = np.ones(len(numbers) * n_tables, dtype=np.float32)
    return csr_array((ones, columns.ravel(), offsets), shape=(len(numbers), len(used))), used


def _mean_square(rest: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    return float(np.average(np.square(rest).sum(axis=1), weights=weights[:, 0]))


def _tell(distances: list[float], verbose: int) -> None:
    if verbose:
        print(f"words, step {len(distances) - 1}: {distances[-1]:.4f} of the targets is not reached")
