"""The first stage: word vectors learned from co-occurrence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import SentenceNetwork, SGNNTransformer
from sklearn_hashnlp.sentences._batches import make_word_batch, take_rows
from sklearn_hashnlp.sentences._cooccurrence import context_targets
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.sentences._reader import SentenceReader

_SENTENCES = 20_000
_AT_ONCE = 512


def common_directions(
    network: SentenceNetwork,
    sentences: Ragged,
    weights: NDArray[np.float32],
    projections: CachedProjections,
    n_components_removed: int,
) -> torch.Tensor:
    """Find the principal directions of the spelled sentences but for the first."""
    device = network.common.device
    n_sentences = len(sentences.offsets) - 1
    chosen = np.unique(np.linspace(0, n_sentences - 1, min(n_sentences, _SENTENCES)).astype(np.int64))
    moment = np.zeros((network.common.shape[1],) * 2)
    # More threads of BLAS would add up in another order.
    with torch.inference_mode(), threadpool_limits(1, user_api="blas"):
        for rows in np.array_split(chosen, -(-len(chosen) // _AT_ONCE)):
            batch = make_word_batch(take_rows(sentences, rows), weights, projections).to(device)
            spelled = network.spell(batch).cpu().numpy().astype(np.float64)
            moment += spelled.T @ spelled
        sizes, directions = np.linalg.eigh(moment)
    # Ascending; those that no sentence has are none.
    n_found = int((sizes > 1e-9 * sizes[-1]).sum())
    found = directions[:, ::-1].T[1 : min(1 + n_components_removed, n_found)]
    return torch.from_numpy(np.ascontiguousarray(found, dtype=np.float32)).to(device)


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


_MOST_WORDS = 100_000  # that are learned: the most frequent


def first_stage(
    network: SentenceNetwork,
    paragraphs: Paragraphs,
    reader: SentenceReader,
    projections: CachedProjections,
    *,
    word_steps: int,
    n_components_removed: int,
    seed: int,
    verbose: int = 0,
) -> None:
    """Let a network learn the vectors of words, and what all sentences share."""
    if network.transformer is not None and word_steps:
        numbers, targets, counts = context_targets(paragraphs, n_components=network.transformer.width, seed=seed)
        most = np.sort(np.argsort(-counts, kind="stable")[:_MOST_WORDS])
        if len(most):
            learn_words(
                network.transformer,
                projections,
                numbers[most],
                targets[most],
                counts[most],
                n_steps=word_steps,
                verbose=verbose,
            )
    if network.spelling is not None and n_components_removed:
        weights = reader.weights(paragraphs.words)
        network.common = common_directions(network, paragraphs.sentences, weights, projections, n_components_removed)
