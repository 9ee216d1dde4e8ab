"""A vector for each word, by the words that it follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.utils.extmath import randomized_svd

from sklearn_hashnlp.estimators._word_windows import WordWindows

_MOST_CONTEXTS = 2000  # columns a distance: the most frequent words stand for all
_BLOCK = 2**22  # windows that are counted at once


def context_vectors(
    windows: WordWindows, n_classes: int, *, n_components: int = 100, seed: int = 0
) -> NDArray[np.float32]:
    """Return words that are predicted in similar contexts similar vectors."""
    counts = np.bincount(windows.y, minlength=n_classes)
    blocks = []
    for distance in range(1, windows.order):
        pairs = _count_pairs(windows, n_classes, distance)
        pairs.data = np.sqrt(pairs.data / distance)
        blocks.append(pairs)
    rows = hstack(blocks, format="csr")
    total = np.maximum(counts, 1) * sum(1 / distance for distance in range(1, windows.order))
    rows = csr_array(diags_array(1 / np.sqrt(total)) @ rows)
    n_components = min(n_components, min(rows.shape))
    left, sizes, _ = randomized_svd(rows.astype(np.float32), n_components, n_iter=4, random_state=seed)
    vectors: NDArray[np.float32] = (left * sizes).astype(np.float32)
    return vectors


def _count_pairs(windows: WordWindows, n_classes: int, distance: int) -> csr_array:
    """Count how often each word has each frequent word so many words before it."""
    shown = windows.targets  # also where contexts show hashes: the words are the same
    frequent = np.bincount(shown[windows.positions - distance])
    columns = np.full(len(frequent), -1, dtype=np.int64)
    chosen = np.argsort(-frequent, kind="stable")[:_MOST_CONTEXTS]
    columns[chosen] = np.arange(len(chosen))
    total = csr_array((n_classes, len(chosen)), dtype=np.float64)
    for start in range(0, len(windows), _BLOCK):
        ends = windows.positions[start : start + _BLOCK]
        found = columns[shown[ends - distance]]
        kept = found >= 0
        ones = np.ones(int(kept.sum()))
        total = total + csr_array((ones, (shown[ends][kept], found[kept])), shape=total.shape)
    return csr_array(total)
