"""Interpolated Kneser-Ney probabilities of the n-grams of one order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native


def interpolate(
    parents: NDArray[np.int32],  # (n_ngrams,): index of the context
    suffixes: NDArray[np.int32],  # (n_ngrams,): index of the n-gram without its first word
    counts: NDArray[np.int64],  # (n_ngrams,)
    kept: NDArray[np.bool_],  # (n_ngrams,): whether the n-gram has a probability of its own
    discounts: NDArray[np.float64],  # (4,): of the counts 0, 1, 2, and 3 or more
    # (n_shorter,): probabilities of the n-grams of the order below
    shorter_probs: NDArray[np.float64],
    n_contexts: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each n-gram's probability and each context's backoff weight, 1 if nothing follows."""
    probs, weights = np.empty(len(counts)), np.empty(n_contexts)
    _native.interpolate(parents, suffixes, counts, kept, discounts, shorter_probs, probs, weights)
    return probs, weights
