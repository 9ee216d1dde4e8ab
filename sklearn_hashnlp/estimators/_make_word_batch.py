"""Sentences of numbered words to a batch that holds each different word once."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import WordBatch


def make_word_batch(sentences: Ragged, weights: NDArray[np.float32], projections: CachedProjections) -> WordBatch:
    """Make a batch."""
    different, rows = np.unique(sentences.values, return_inverse=True)
    lengths = np.diff(sentences.offsets)
    there = np.arange(lengths.max(initial=0)) < lengths[:, None]
    words = np.full(there.shape, -1, dtype=np.int64)
    words[there] = rows
    shares = np.zeros(there.shape, dtype=np.float32)
    shares[there] = weights[sentences.values] / _times(rows, lengths, len(different))
    made = torch.from_numpy(projections.rows(different))
    return WordBatch(made, torch.from_numpy(words), torch.from_numpy(shares))


def _times(rows: NDArray[np.int64], lengths: NDArray[np.int64], n_different: int) -> NDArray[np.float32]:
    """Count how often the word of each place stands in its sentence."""
    keys = np.repeat(np.arange(len(lengths)) * n_different, lengths) + rows
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    times: NDArray[np.float32] = counts.astype(np.float32)[which]
    return times
