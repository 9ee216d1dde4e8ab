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
    """Let word vectors become what the company of the words says, by least squares.

    A word counts by the fourth root of how often it occurs. First the matrix W is solved for by ridge regression: what
    spelling says of a word's use. What that leaves the tables learn, by so few steps of conjugate gradients [1]_, each
    column for itself, that they have learned what many words share and not yet every word by heart.

    Parameters
    ----------
    transformer : SGNNTransformer
        Its linear layer and its tables are written.
    projections : CachedProjections
        Of all words.
    numbers : ndarray of int64 of shape (n_words,)
        Which of them are to be learned.
    targets : ndarray of float32 of shape (n_words, width)
        Unit vectors, which are learned at the length sqrt(width).
    counts : ndarray of int64 of shape (n_words,)
        How often each word occurs.
    n_steps : int
        Of conjugate gradients; at least 1.
    verbose : int, default=0
        With 1 or more, a line is printed for each.

    Returns
    -------
    list of float
        The weighted mean squared distance from the targets, as a share of their squared length: by W alone, and where
        there are tables after each step.

    References
    ----------
    .. [1] Hestenes & Stiefel (1952). Methods of conjugate gradients for solving linear systems. Journal of Research of
           the National Bureau of Standards 49.
    """
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
    """Give the ridge regression of the targets on the projections, and what it leaves."""
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
    """Give a matrix of ones where a word has a row, of those rows that any word has, and which these are."""
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
