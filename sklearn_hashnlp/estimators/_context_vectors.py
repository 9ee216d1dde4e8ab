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
    """Give words that are predicted in similar contexts similar vectors.

    For each distance, one word back, two words back, and so on, it is counted how often a word follows another; rows of
    the square roots of the relative counts (Hellinger distance) are reduced by a truncated singular value
    decomposition [1]_. The nearer a context word stands, the more it weighs.

    Parameters
    ----------
    windows : WordWindows
        The corpus.
    n_classes : int
        Words that are predicted.
    n_components : int, default=100
        Length of a vector at most.
    seed : int, default=0
        Of the decomposition.

    Returns
    -------
    ndarray of float32 of shape (n_classes, <= n_components)
        The vectors; zeros for a word that does not occur.

    References
    ----------
    .. [1] Lebret & Collobert (2014). Word embeddings through Hellinger PCA. EACL.

    Examples
    --------
    >>> import numpy as np
    >>> text = np.array([4, 0, 2, 4, 1, 2, 4, 0, 3, 4, 1, 3], dtype=np.int32)  # 0 and 1 follow 4; 2 and 3 follow both
    >>> vectors = context_vectors(WordWindows(text, text, np.arange(1, 12), np.arange(12), 2), 5, n_components=3)
    >>> cosines = vectors @ vectors.T
    >>> bool(cosines[0, 1] > 0.99), bool(abs(cosines[0, 2]) < 0.01)
    (True, True)
    """
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
