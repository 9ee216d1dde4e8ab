"""Trees over the words of a language model: by name, by co-occurrence, and by hidden states."""

from __future__ import annotations

from math import isqrt
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from sklearn_hashnlp import trees
from sklearn_hashnlp.language._language_net import LanguageNet, WindowDataset
from sklearn_hashnlp.language._tokenizer import WordWindows
from sklearn_hashnlp.training._batches import Batches
from sklearn_hashnlp.trees import SoftmaxTree
from sklearn_hashnlp.trees._tree_builders import ClassTree, named_tree

# "cluster" and "binary_cluster" use co-occurrence vectors, "learned" the hidden states of a small network.
WordTree: TypeAlias = Literal[ClassTree, "learned", "cluster", "binary_cluster"]
_BATCH_SIZE = 4096  # windows per batch of hidden states
_MAX_CONTEXT_WORDS = 2000  # columns for each distance: only the most frequent words
_BLOCK_SIZE = 2**22  # windows that are counted at once
_MIN_VARIANCE = 1e-3  # of hidden states before one word, relative to the mean variance


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
    """Build a tree of about 1.5 sqrt(V) clusters, the smallest of which hold the most frequent words."""
    # A second level of clusters saves a tenth of the time, but raises the validation perplexity on the Penn Treebank by
    # 1.7 %.
    return trees.cluster_tree(
        counts, vectors, arity=(max(2, 3 * isqrt(len(counts)) // 2),), balance="cost", random_state=seed
    )


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


def learned_tree(net: LanguageNet, windows: WordWindows, n_classes: int, *, seed: int) -> SoftmaxTree:
    """Build a tree that clusters words by the hidden states of a network."""
    counts = np.bincount(windows.y, minlength=n_classes)
    return word_clusters(counts, discriminant_vectors(net, windows, n_classes), seed=seed)


def discriminant_vectors(net: LanguageNet, windows: WordWindows, n_classes: int) -> NDArray[np.float32]:
    """Compute the mean hidden state before each word, shrunk for rare words, in the space of linear discriminants."""
    counts = np.bincount(windows.y, minlength=n_classes)
    shares = counts / counts.sum()
    with threadpool_limits(1, user_api="blas"):  # the order of summation depends on the number of threads
        means, total = _hidden_moments(net, windows, n_classes)
        between = (means * shares[:, np.newaxis]).T @ means
        within = total - between
        within += np.eye(len(within)) * max(_MIN_VARIANCE * np.trace(within) / len(within), 1e-12)
        values, axes = eigh(between, within)
        variances = np.maximum(values - n_classes / counts.sum(), 0.0)  # without that of the error of the means
        shrinkage = variances / (variances + 1 / np.maximum(counts, 1)[:, np.newaxis])
        vectors: NDArray[np.float32] = (means @ axes * shrinkage).astype(np.float32)
    return vectors


def mean_hidden_states(net: LanguageNet, windows: WordWindows, n_classes: int) -> NDArray[np.float32]:
    """Compute the mean hidden state before each word, minus the mean over all words; zeros for absent words."""
    return _hidden_moments(net, windows, n_classes)[0].astype(np.float32)


def _hidden_moments(
    net: LanguageNet, windows: WordWindows, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the mean hidden state before each word, minus the mean over all, and the covariance of all states."""
    module = net.module_.eval()
    counts = np.bincount(windows.y, minlength=n_classes)[:, np.newaxis]
    sums, products = 0.0, 0.0
    with torch.inference_mode():
        for context, target in Batches(WindowDataset(windows), _BATCH_SIZE, device=net.device):
            hidden = module.hidden(context).cpu().numpy().astype(np.float64)
            entries = np.ones(len(hidden)), (target.cpu().numpy(), np.arange(len(hidden)))
            sums = sums + csr_array(entries, shape=(n_classes, len(hidden))) @ hidden
            products = products + hidden.T @ hidden
    average = np.sum(sums, axis=0) / counts.sum()
    means = np.where(counts > 0, sums / np.maximum(counts, 1) - average, 0.0)
    return means, products / counts.sum() - np.outer(average, average)
