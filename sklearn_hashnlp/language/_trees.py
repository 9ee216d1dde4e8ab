"""Trees over words, and the word vectors used for clustering."""

from __future__ import annotations

from math import isqrt
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from sklearn_hashnlp import trees
from sklearn_hashnlp.language._net import LanguageNet, WindowBatches, WindowDataset
from sklearn_hashnlp.language._windows import WordWindows
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._tree_builders import ClassTree, named_tree

# "cluster" and "binary_cluster" use co-occurrence vectors, "learned" the hidden states of a small network.
WordTree: TypeAlias = Literal[ClassTree, "learned", "cluster", "binary_cluster"]

_BATCH_SIZE = 4096  # windows per batch of hidden states
_MAX_CONTEXT_WORDS = 2000  # columns for each distance: only the most frequent words
_BLOCK_SIZE = 2**22  # windows that are counted at once


def language_tree(
    tree: SoftmaxTree | WordTree,
    windows: WordWindows,
    n_classes: int,
    *,
    seed: int,
    caller: str,
) -> SoftmaxTree:
    """Build a tree over the words that can be predicted by its name, or check a given tree."""
    if isinstance(tree, SoftmaxTree):
        if tree.n_classes != n_classes:
            raise ValueError(
                f"{caller}: the tree has {tree.n_classes} classes, and {n_classes} words can be predicted: all of "
                "vocabulary_ but '<s>'. Fix the words by vocabulary and build the tree over them."
            )
        return tree
    assert tree != "learned", "learned in fit"
    counts = np.bincount(windows.y, minlength=n_classes)
    if tree == "cluster" or tree == "binary_cluster":
        vectors = cooccurrence_vectors(windows, n_classes, seed=seed)
        if tree == "cluster":
            return word_clusters(counts, vectors, seed=seed)
        return trees.cluster_tree(counts, vectors, random_state=seed)
    return named_tree(tree, counts, seed=seed)


def word_clusters(counts: NDArray[np.intp], vectors: NDArray[np.float32], *, seed: int) -> SoftmaxTree:
    """Build a tree of about sqrt(V) clusters, and as many of the most frequent words directly below the root."""
    # Frequent words do not resemble other words. A second level of clusters saves a tenth of the time, but raises the
    # validation perplexity on the Penn Treebank by 1.7 %.
    return trees.cluster_tree(counts, vectors, arity="sqrt", n_direct=isqrt(len(counts)), random_state=seed)


def cooccurrence_vectors(
    windows: WordWindows, n_classes: int, *, n_components: int = 100, seed: int = 0
) -> NDArray[np.float32]:
    """Compute word vectors by Hellinger PCA (Lebret & Collobert 2014), of shape (n_classes, at most n_components)."""
    counts = np.bincount(windows.y, minlength=n_classes)
    blocks = []
    for distance in range(1, windows.order):
        pairs = _count_pairs(windows, n_classes, distance)
        pairs.data = np.sqrt(pairs.data / distance)  # closer context words have a larger weight
        blocks.append(pairs)
    rows = hstack(blocks, format="csr")
    total = np.maximum(counts, 1) * sum(1 / distance for distance in range(1, windows.order))
    rows = csr_array(diags_array(1 / np.sqrt(total)) @ rows)
    n_components = min(n_components, min(rows.shape))
    with threadpool_limits(1, user_api="blas"):  # the order of summation depends on the number of threads
        left, singular_values, _ = randomized_svd(rows.astype(np.float32), n_components, n_iter=4, random_state=seed)
    vectors: NDArray[np.float32] = (left * singular_values).astype(np.float32)
    return vectors


def _count_pairs(windows: WordWindows, n_classes: int, distance: int) -> csr_array:
    """Count the pairs of a word and a frequent word ``distance`` words before it."""
    ids = windows.targets  # contexts may hold hashes, targets are always word ids
    counts = np.bincount(ids[windows.positions - distance])
    columns = np.full(len(counts), -1, dtype=np.int64)
    frequent = np.argsort(-counts, kind="stable")[:_MAX_CONTEXT_WORDS]
    columns[frequent] = np.arange(len(frequent))
    total = csr_array((n_classes, len(frequent)), dtype=np.float64)
    for start in range(0, len(windows), _BLOCK_SIZE):
        ends = windows.positions[start : start + _BLOCK_SIZE]
        columns_before = columns[ids[ends - distance]]
        mask = columns_before >= 0
        ones = np.ones(int(mask.sum()))
        total = total + csr_array((ones, (ids[ends][mask], columns_before[mask])), shape=total.shape)
    return csr_array(total)


def mean_hidden_states(net: LanguageNet, windows: WordWindows, n_classes: int) -> NDArray[np.float32]:
    """Compute the mean hidden state before each word, minus the mean over all words; zeros for absent words."""
    module = net.module_.eval()
    counts = np.bincount(windows.y, minlength=n_classes)[:, np.newaxis]
    sums = 0.0
    with torch.inference_mode():
        for context, target in WindowBatches(WindowDataset(windows), _BATCH_SIZE, device=net.device):
            hidden = module.hidden(context).cpu().numpy().astype(np.float64)
            entries = np.ones(len(hidden)), (target.cpu().numpy(), np.arange(len(hidden)))
            sums = sums + csr_array(entries, shape=(n_classes, len(hidden))) @ hidden
    average = np.sum(sums, axis=0) / counts.sum()
    means: NDArray[np.float32] = np.where(counts > 0, sums / np.maximum(counts, 1) - average, 0.0).astype(np.float32)
    return means
