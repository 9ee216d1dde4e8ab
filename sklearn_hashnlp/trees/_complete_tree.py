"""The complete binary tree in heap order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._class_counts import class_counts
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def complete_tree(counts: ArrayLike | int) -> SoftmaxTree:
    """Build the complete binary tree, every level full but the last.

    It is the tree of Paddle's hierarchical sigmoid: in the heap 1, 2, ..., 2V - 1 the inner
    nodes are 1..V-1 and class c is the leaf c + V. So for i = 0 .. bit_length(c + V) - 2, from the leaf up, class c
    passes node ``((c + V) >> (i + 1)) - 1`` by branch ``((c + V) >> i) & 1``; branch 1 is the right child.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number matters.

    Returns
    -------
    SoftmaxTree
        With V - 1 inner nodes in heap order.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor counts.

    References
    ----------
    F. Morin and Y. Bengio, "Hierarchical probabilistic neural network language model", AISTATS 2005.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import complete_tree
    >>> complete_tree(5).to_nested()
    [[[3, 4], 0], [1, 2]]
    """
    n_classes = len(class_counts(counts, "complete_tree"))
    heap = np.arange(2, 2 * n_classes)
    children = np.where(heap < n_classes, heap - 1, ~(heap - n_classes))
    return SoftmaxTree(children, np.arange(0, 2 * n_classes, 2))
