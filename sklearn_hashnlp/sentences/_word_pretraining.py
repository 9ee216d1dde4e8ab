"""Word pretraining: vectors from co-occurrence; principal components removed from sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.nn import SGNNTransformer, WordBatch
from sklearn_hashnlp.nn._sentence_network import SentenceNetwork
from sklearn_hashnlp.sentences._cooccurrence import ppmi_vectors
from sklearn_hashnlp.sentences._paragraph_batches import TrainingText, take_rows
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections

_MAX_WORDS = 100_000  # the most frequent words are fitted
_WORD_BLOCK = 2**13  # words projected at once
# a word weighs its count to this power: the targets of rare words are less reliable
_COUNT_POWER = 0.25
_RIDGE = 1.0
_TABLE_RIDGE = 60.0  # occurrences: a row of a word that occurs less often stays near zero
_MAX_SENTENCES = 20_000  # of which principal components are computed
_SENTENCE_BLOCK = 512
# Components removed by default, if enough sentences distinguish them from topics
_MAX_COMPONENTS = 30
_SENTENCES_PER_COMPONENT = 1_000
_MAX_CONTEXT_SENTENCES = 4_000  # of which the component of the second part is computed
_CONTEXT_BLOCK = 64  # smaller, since Transformer layers take more memory
_MAX_WHITENED_SENTENCES = 10_000  # of which the axes of the first part are computed
_WHITENING = 0.2  # power of the eigenvalues of the first part by which its axes are divided
_LEAST_EIGENVALUE = 1 / 3  # lower bound, relative to their mean


def pretrain(
    network: SentenceNetwork,
    text: TrainingText,
    *,
    word_steps: int,
    n_components_removed: int | Literal["auto"],
    seed: int,
    verbose: int = 0,
) -> None:
    """Fit the word vectors of a network, and set the principal components that it removes."""
    if network.transformer is not None and word_steps:
        word_ids, targets, counts = ppmi_vectors(
            text.paragraphs, n_components=network.transformer.embedding_dim, seed=seed
        )
        most_frequent = np.sort(np.argsort(-counts, kind="stable")[:_MAX_WORDS])
        if len(most_frequent):
            fit_word_vectors(
                network.transformer,
                text.projections,
                word_ids[most_frequent],
                targets[most_frequent],
                counts[most_frequent],
                n_steps=word_steps,
                verbose=verbose,
            )
    if n_components_removed == "auto":
        set_context_component(network, text)
        enough = text.paragraphs.n_sentences // _SENTENCES_PER_COMPONENT
        n_removed = min(_MAX_COMPONENTS, enough, text.projections.n_features - 2)
    else:
        n_removed = int(n_components_removed)
    if network.spelling is not None and n_removed and n_components_removed == "auto":
        whiten_spelling(network.spelling, text, n_removed)
    elif network.spelling is not None and n_removed:
        network.common = principal_components(network, text, n_removed)


# The linear layer is fitted by ridge regression. The tables are fitted to its residuals by a few
# steps of conjugate gradients (Hestenes & Stiefel, 1952), each column separately: early stopping
# fits the common part of many words and does not memorize every word.
def fit_word_vectors(
    transformer: SGNNTransformer,  # its linear layer and its tables are set
    projections: CachedProjections,
    word_ids: NDArray[np.int64],  # (n_words,): of the words to fit
    # (n_words, width): unit vectors, which are fitted at length sqrt(width)
    targets: NDArray[np.float32],
    counts: NDArray[np.int64],  # (n_words,)
    *,
    n_steps: int,  # of conjugate gradients
    verbose: int = 0,
) -> list[float]:
    """Fit word vectors to targets by least squares; return the initial loss and each step's."""
    weights = counts.astype(np.float64) ** _COUNT_POWER
    weights = (weights / weights.mean()).astype(np.float32)[:, np.newaxis]
    scale = math.sqrt(transformer.embedding_dim)
    # Threads of BLAS split sums, and their number would change the last bits.
    with threadpool_limits(limits=1):
        matrix, residuals = _ridge_regression(projections, word_ids, targets, weights)
        losses = [_weighted_mse(residuals, weights)]
        _print_loss(losses, verbose)
        with torch.no_grad():
            transformer.linear.weight.copy_(torch.from_numpy(matrix.T * scale))
        if transformer.tables is None:
            return losses
        design, used = _design_matrix(transformer, projections, word_ids)
        table = np.zeros((design.shape[1], residuals.shape[1]), dtype=np.float32)
        transposed = csr_array(design.T)
        occurrences = counts.astype(np.float32)[:, np.newaxis]
        diagonal = transposed @ occurrences + np.float32(_TABLE_RIDGE)  # of the preconditioner
        gradient = transposed @ (occurrences * residuals)
        scaled = gradient / diagonal
        direction, square = scaled, (gradient * scaled).sum(axis=0)
        for _ in range(n_steps):
            change = design @ direction
            curvature = transposed @ (occurrences * change) + np.float32(_TABLE_RIDGE) * direction
            # The direction of a solved column is zero: no division by zero.
            step = square / np.maximum(
                (direction * curvature).sum(axis=0), np.finfo(np.float32).tiny
            )
            table += step * direction
            residuals -= step * change
            gradient -= step * curvature
            scaled = gradient / diagonal
            before, square = square, (gradient * scaled).sum(axis=0)
            direction = scaled + square / np.maximum(before, np.finfo(np.float32).tiny) * direction
            losses.append(_weighted_mse(residuals, weights))
            _print_loss(losses, verbose)
    with torch.no_grad():
        rows = transformer.tables.tables.weight
        rows[torch.from_numpy(used).to(rows.device)] = torch.from_numpy(
            table * np.float32(scale)
        ).to(rows.device)
    return losses


def _ridge_regression(
    projections: CachedProjections,
    word_ids: NDArray[np.int64],
    targets: NDArray[np.float32],
    weights: NDArray[Any],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the coefficients of the regression of targets on projections, and its residuals."""
    n_features = projections.n_features
    blocks = [slice(start, start + _WORD_BLOCK) for start in range(0, len(word_ids), _WORD_BLOCK)]
    gram, cross = _RIDGE * np.eye(n_features), np.zeros((n_features, targets.shape[1]))
    for block in blocks:
        rows = projections.rows(word_ids[block])
        weighted = (weights[block] * rows).T
        gram += weighted @ rows
        cross += weighted @ targets[block]
    matrix = np.linalg.solve(gram, cross).astype(np.float32)
    residuals = [targets[block] - projections.rows(word_ids[block]) @ matrix for block in blocks]
    return matrix, np.concatenate(residuals)


def _design_matrix(
    transformer: SGNNTransformer, projections: CachedProjections, word_ids: NDArray[np.int64]
) -> tuple[csr_array, NDArray[np.int64]]:
    """Return the 0-1 matrix of words by used table rows, and the indices of these rows."""
    assert transformer.tables is not None
    buckets = [
        transformer.tables.buckets(
            torch.from_numpy(projections.rows(word_ids[start : start + _WORD_BLOCK]))
        ).numpy()
        for start in range(0, len(word_ids), _WORD_BLOCK)
    ]
    used, columns = np.unique(np.concatenate(buckets), return_inverse=True)
    n_tables = transformer.tables.n_tables
    offsets = np.arange(0, len(word_ids) * n_tables + 1, n_tables)
    ones = np.ones(len(word_ids) * n_tables, dtype=np.float32)
    return csr_array((ones, columns.ravel(), offsets), shape=(len(word_ids), len(used))), used


def _weighted_mse(residuals: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    return float(np.average(np.square(residuals).sum(axis=1), weights=weights[:, 0]))


def _print_loss(losses: list[float], verbose: int) -> None:
    if verbose:
        print(f"word pretraining, step {len(losses) - 1}: loss {losses[-1]:.4f}")


# The first part is mapped to its principal axes, each divided by a power of its eigenvalue, instead
# of to random ones. The first axis is kept and the next ones are excluded, as by
# principal_components, so the network removes none.
def whiten_spelling(
    spelling: torch.nn.Linear,  # its weight is set
    text: TrainingText,
    n_removed: int,
) -> None:
    """Set the first part's linear map, which removes principal components and scales the others."""
    moment = np.zeros((text.projections.n_features,) * 2)
    with threadpool_limits(1, user_api="blas"):  # more threads would sum in another order
        for rows in _sample(text.paragraphs.n_sentences, _MAX_WHITENED_SENTENCES, _SENTENCE_BLOCK):
            pooled = _pool_projections(text, rows)
            moment += pooled.T @ pooled
        eigenvalues, eigenvectors = np.linalg.eigh(moment)
    eigenvalues, eigenvectors = eigenvalues[::-1], eigenvectors[:, ::-1]
    kept = np.delete(np.arange(len(eigenvalues)), slice(1, 1 + n_removed))[: spelling.out_features]
    least = _LEAST_EIGENVALUE * eigenvalues.mean()
    scale = (np.maximum(eigenvalues, least) / max(eigenvalues[1 + n_removed], least)) ** -_WHITENING
    scale[0] = 1.0
    with torch.no_grad():
        spelling.weight.zero_()
        spelling.weight[: len(kept)] = _to_tensor(
            (eigenvectors[:, kept] * scale[kept]).T, spelling.weight
        )


def _pool_projections(text: TrainingText, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weighted sums of the word projections of sentences, at unit length."""
    sentences = take_rows(text.paragraphs.sentences, rows)
    distinct, index = np.unique(sentences.values, return_inverse=True)
    counts = csr_array(
        (np.ones(len(index), dtype=np.float64), index, sentences.offsets),
        shape=(len(sentences.offsets) - 1, len(distinct)),
    )
    counts.sum_duplicates()
    counts.data[:] = text.weights[distinct][counts.indices]  # a repeated word has its weight once
    pooled = counts @ text.projections.rows(distinct).astype(np.float64)
    lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
    unit: NDArray[np.float64] = pooled / np.where(lengths > 0, lengths, 1)
    return unit


# Of the second moment, not of the covariance: the first component is near the mean of all
# sentences. It is kept, since a sentence's part of it measures how ordinary its words are; the next
# ones are the spelling of frequent words.
def principal_components(
    network: SentenceNetwork, text: TrainingText, n_components: int
) -> torch.Tensor:
    """Return at most n_components principal components of spelling parts, without the first."""
    batches = map(text.batch, _sample(text.paragraphs.n_sentences, _MAX_SENTENCES, _SENTENCE_BLOCK))
    eigenvalues, eigenvectors = _principal_axes(network.spell, batches, network.common)
    # the eigenvalues ascend; others are rounding errors
    rank = int((eigenvalues > 1e-9 * eigenvalues[-1]).sum())
    return _to_tensor(eigenvectors[:, ::-1].T[1 : min(1 + n_components, rank)], network.common)


def set_context_component(network: SentenceNetwork, text: TrainingText) -> None:
    """Set the first principal component of sentences' second parts, which is partly removed."""
    if network.transformer is None:
        return
    network.transformer.eval()
    batches = map(
        text.batch, _sample(text.paragraphs.n_sentences, _MAX_CONTEXT_SENTENCES, _CONTEXT_BLOCK)
    )
    eigenvectors = _principal_axes(network.transformer, batches, network.context_common)[1]
    network.context_common = _to_tensor(eigenvectors[:, -1:].T, network.context_common)


def _sample(n_sentences: int, max_sentences: int, block: int) -> list[NDArray[np.int64]]:
    """Return the indices of some sentences, in blocks."""
    sample = np.unique(
        np.linspace(0, n_sentences - 1, min(n_sentences, max_sentences)).astype(np.int64)
    )
    return np.array_split(sample, -(-len(sample) // block))


def _principal_axes(
    embed: Callable[[WordBatch], torch.Tensor], batches: Iterable[WordBatch], like: torch.Tensor
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues, ascending, and eigenvectors of the second moment of vectors."""
    moment = np.zeros((like.shape[1],) * 2)
    # More threads of BLAS would sum in another order.
    with torch.inference_mode(), threadpool_limits(1, user_api="blas"):
        for batch in batches:
            vectors = embed(batch.to(like.device)).cpu().numpy().astype(np.float64)
            moment += vectors.T @ vectors
        eigenvalues, eigenvectors = np.linalg.eigh(moment)
    return eigenvalues, eigenvectors


def _to_tensor(directions: NDArray[np.float64], like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(directions, dtype=np.float32)).to(like.device)
