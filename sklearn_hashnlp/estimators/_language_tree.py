"""The tree of a language model's output layer."""

from __future__ import annotations

from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp import trees
from sklearn_hashnlp.estimators._class_tree import CLASS_TREES, named_tree
from sklearn_hashnlp.estimators._context_vectors import context_vectors
from sklearn_hashnlp.estimators._word_windows import WordWindows
from sklearn_hashnlp.trees import SoftmaxTree

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
