"""Trees over words, and the vectors that they are clustered by."""

from __future__ import annotations

from math import isqrt
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.utils.extmath import randomized_svd

from sklearn_hashnlp import trees
from sklearn_hashnlp.language._batches import WindowBatches, WindowDataset
from sklearn_hashnlp.language._net import LanguageNet
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._named_tree import CLASS_TREES, named_tree

_ROWS = 4096


def context_means(net: LanguageNet, windows: WordWindows, n_classes: int) -> NDArray[np.float32]:
    """Return words that the network predicts in like contexts like vectors."""
    module = net.module_.eval()
    counts = np.bincount(windows.y, minlength=n_classes)[:, np.newaxis]
    sums = 0.0
    with torch.inference_mode():
        for context, target in WindowBatches(WindowDataset(windows), _ROWS, device=net.device):
            hidden = module.hidden(context).cpu().numpy().astype(np.float64)
            entries = np.ones(len(hidden)), (target.cpu().numpy(), np.arange(len(hidden)))
            sums = sums + csr_array(entries, shape=(n_classes, len(hidden))) @ hidden
    total = np.sum(sums, axis=0) / counts.sum()
    means: NDArray[np.float32] = np.where(counts > 0, sums / np.maximum(counts, 1) - total, 0.0).astype(np.float32)
    return means


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


_OF_CONTEXTS: Final = ("cluster", "binary_cluster")  # trees made of context vectors

TREES: Final = (*CLASS_TREES, *_OF_CONTEXTS)
"""Names that a tree is asked for by."""


def language_tree(
    tree: SoftmaxTree | str, windows: WordWindows, n_classes: int, *, seed: int, caller: str
) -> SoftmaxTree:
    """Return a tree over the words that can be predicted."""
    if isinstance(tree, SoftmaxTree):
        if tree.n_classes != n_classes:
            raise ValueError(
                f"{caller}: the tree has {tree.n_classes} classes, and {n_classes} words can be predicted: all of "
                "vocabulary_ but '<s>'. Fix the words by vocabulary and build the tree over them."
            )
        return tree
    counts = np.bincount(windows.y, minlength=n_classes)
    if tree in _OF_CONTEXTS:
        vectors = context_vectors(windows, n_classes, seed=seed)
        if tree == "cluster":
            return two_level_clusters(counts, vectors, seed=seed)
        return trees.cluster_tree(counts, vectors, random_state=seed)
    return named_tree(tree, counts, seed=seed)


def two_level_clusters(counts: NDArray[np.intp], vectors: NDArray[np.float32], *, seed: int) -> SoftmaxTree:
    """Build the tree of two levels that predicts best."""
    return trees.cluster_tree(counts, vectors, arity="sqrt", n_direct=isqrt(len(counts)), random_state=seed)
