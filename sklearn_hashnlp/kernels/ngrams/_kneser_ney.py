"""Interpolated Kneser-Ney probabilities of the n-grams of one order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels._intrinsics import in_huge_pages


@compiled
def interpolate(
    parents: NDArray[np.int32],  # (n_ngrams,): index of the context
    suffixes: NDArray[np.int32],  # (n_ngrams,): index of the n-gram without its first word
    counts: NDArray[np.int64],  # (n_ngrams,)
    kept: NDArray[np.bool_],  # (n_ngrams,): whether the n-gram has a probability of its own
    discounts: NDArray[np.float64],  # (4,): of the counts 0, 1, 2, and 3 or more
    shorter_probs: NDArray[np.float64],  # (n_shorter,): probabilities of the n-grams of the order below
    n_contexts: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of each n-gram and the backoff weight of each context, 1 if nothing follows it."""
    probs, weights = in_huge_pages(np.empty(len(counts))), in_huge_pages(np.empty(n_contexts))
    totals = np.zeros(n_contexts)
    weights[:] = 0
    for i in range(len(counts)):
        count, parent = counts[i], parents[i]
        totals[parent] += count
        weights[parent] += discounts[min(count, 3)] if kept[i] else float(count)
    for parent in range(len(weights)):
        weights[parent] = weights[parent] / totals[parent] if totals[parent] > 0 else 1.0
    for i in range(len(counts)):
        count, parent = counts[i], parents[i]
        own = (count - discounts[min(count, 3)]) / totals[parent] if kept[i] and count > 0 else 0.0
        probs[i] = own + weights[parent] * shorter_probs[suffixes[i]]
    return probs, weights
