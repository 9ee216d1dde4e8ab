"""A tree that knows nothing: the yardstick of all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._class_counts import class_counts
from sklearn_hashnlp.trees._generator import RandomState, as_generator
from sklearn_hashnlp.trees._numbering import preorder_numbers, renumber
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def random_tree(counts: ArrayLike | int, *, random_state: RandomState = None) -> SoftmaxTree:
    """Build a random binary tree: shuffle, join neighbours two by two, carry an odd one up, until two are left.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number matters.
    random_state : int, Generator, RandomState or None, default=None
        Decides the order of the classes; an int gives the same tree every time.

    Returns
    -------
    SoftmaxTree
        Numbered in pre-order, with paths of at most ceil(log2 V) nodes.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor counts, or `random_state` is none of the above.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import random_tree
    >>> random_tree(5, random_state=0)
    SoftmaxTree(n_classes=5, n_nodes=4, max_depth=3, binary)
    """
    n_classes = len(class_counts(counts, "random_tree"))
    row = ~as_generator(random_state, "random_tree").permutation(n_classes)
    if n_classes == 1:
        return SoftmaxTree([], [0])
    children = []
    n_nodes = 0
    while len(row) > 1:
        n_pairs = len(row) // 2
        children.append(row[: 2 * n_pairs])
        row = np.append(np.arange(n_nodes, n_nodes + n_pairs), row[2 * n_pairs :])
        n_nodes += n_pairs
    # Joins were counted from the leaves up; the last is the root.
    edges, offsets = renumber(
        np.concatenate(children), np.arange(0, 2 * n_nodes + 1, 2), np.arange(n_nodes)[::-1].astype(np.int64)
    )
    return SoftmaxTree(*renumber(edges, offsets, preorder_numbers(edges, offsets)))
