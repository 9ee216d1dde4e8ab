"""Slow truths about sentences: paragraphs, weights and word pretraining, one word at a time in
double precision.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]


def read_paragraphs(
    paragraphs: list[list[str]], max_sentences: int, max_words: int
) -> list[list[list[str]]]:
    """Split sentences into words, and paragraphs into parts of equal length."""
    parts = []
    for paragraph in paragraphs:
        sentences = [
            re.findall(r"\w+|[^\w\s]", sentence.lower())[:max_words] for sentence in paragraph
        ]
        sentences = [sentence for sentence in sentences if sentence]
        n_parts = -(-len(sentences) // max_sentences)
        for part in range(n_parts):
            size, n_larger = divmod(len(sentences), n_parts)
            begin = part * size + min(part, n_larger)
            parts.append(sentences[begin : begin + size + (part < n_larger)])
    return parts


def word_weight(word: str, sentences: list[list[str]]) -> float:
    """Compute the weight of a word in a sentence."""
    df = sum(word in sentence for sentence in sentences)
    idf = math.log((1 + len(sentences)) / (1 + df)) + 1
    return float(min(idf, 9) ** 1.5 * (1 if any(map(str.isalnum, word)) else 0.5))


def ppmi(
    sentences: list[list[int]], *, window: int, min_count: int, n_contexts: int, smoothing: float
) -> tuple[list[int], dict[tuple[int, int], float]]:
    """Return the frequent words, and the PPMI of (word, context)."""
    counts = Counter(word for sentence in sentences for word in sentence)
    frequent = sorted(
        (word for word in counts if counts[word] >= min_count),
        key=lambda word: (-counts[word], word),
    )
    contexts = frequent[:n_contexts]
    pairs: Counter[tuple[int, int]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                if 0 < abs(i - j) <= window and word in frequent and context in contexts:
                    # a Counter of floats
                    pairs[word, context] += 1 / abs(i - j)  # type: ignore[assignment]
    of_word: Counter[int] = Counter()
    of_context: Counter[int] = Counter()
    for (word, context), count in pairs.items():
        of_word[word] += count
        of_context[context] += count
    total = sum(count**smoothing for count in of_context.values())
    values = {}
    for (word, context), count in pairs.items():
        value = math.log(count * total / (of_word[word] * of_context[context] ** smoothing))
        if value > 1e-5:
            values[word, context] = value
    return frequent, values


def ppmi_similarities(
    sentences: list[list[int]], power: float, **options: Any
) -> tuple[list[int], Array]:
    """Return the words that have a vector, and the inner products of the vectors."""
    frequent, values = ppmi(sentences, **options)
    rows = np.array(
        [[values.get((word, context), 0.0) for context in range(10)] for word in sorted(frequent)]
    )
    rows = rows.reshape(-1, 10)
    keep = rows.any(axis=1)
    left, singular_values, _ = np.linalg.svd(rows[keep], full_matrices=False)
    real = singular_values > 1e-5 * singular_values.max(initial=0)
    vectors = left[:, real] * singular_values[real] ** power
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.sort(frequent)[keep].tolist(), vectors @ vectors.T


def fitted_word_vectors(
    rows: Array,  # (n_words, n_features): projections
    targets: Array,
    weights: Array,  # (n_words,): of the linear layer
    occurrences: Array,  # (n_words,): weights of the tables
    buckets: NDArray[np.int64] | None,  # (n_words, n_tables): indices of table rows
    n_rows: int,  # of the tables
    n_steps: int,
) -> Array:
    """Solve the ridge regression, and the regression of its residuals in the Krylov space of so
    many steps.

    The space is that of the moment matrix multiplied by the inverse of its diagonal.
    """
    weight = np.diag(weights)
    gram = rows.T @ weight @ rows + np.eye(rows.shape[1])
    vectors = rows @ np.linalg.solve(gram, rows.T @ weight @ targets)
    if buckets is None:
        return vectors
    design = np.zeros((len(rows), n_rows))
    np.put_along_axis(design, buckets, 1, axis=1)
    moment = design.T @ np.diag(occurrences) @ design + 60 * np.eye(n_rows)
    scale = 1 / np.diag(moment)
    for column, residual in enumerate((targets - vectors).T):
        gradient = design.T @ (occurrences * residual)
        powers = [scale * gradient]
        for _ in range(n_steps - 1):
            powers.append(scale * (moment @ powers[-1]))
        space, _ = np.linalg.qr(np.transpose(powers))
        vectors[:, column] += design @ (
            space @ np.linalg.solve(space.T @ moment @ space, space.T @ gradient)
        )
    return vectors


def spelling_parts(
    sentences: list[list[int]], spelling: torch.nn.Linear, rows: Array, weights: Array
) -> Array:
    """Compute the spelling parts of sentences, each distinct word of a sentence once."""
    matrix = spelling.weight.double().numpy()
    parts = [
        sum(weights[word] * (matrix @ rows[word]) for word in set(sentence))
        for sentence in sentences
    ]
    return np.array([part / np.linalg.norm(part) for part in parts])


def same_space(first: Array, second: Array) -> None:
    """Compare the projections on two sets of orthonormal rows, whose signs are arbitrary."""
    np.testing.assert_allclose(first.T @ first, second.T @ second, atol=1e-4)


def unit_rows(rows: Sequence[Array]) -> Array:
    """Scale each row to unit length, but for a row of zeros."""
    return np.array([row / (np.sqrt((row**2).sum()) or 1) for row in rows])
