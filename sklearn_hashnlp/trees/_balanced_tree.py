"""The tree of least depth for a number of children."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._class_counts import check_arity, class_counts
from sklearn_hashnlp.trees._numbering import preorder_numbers, renumber
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def balanced_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build a tree of least depth: each node deals its classes out to its children as evenly as they go.

    The classes stand at the leaves in their order, so that numbers which follow each other share most of their path. It
    suits classes whose order means something; :func:`huffman_tree` has shorter expected paths, :func:`cluster_tree`
    predicts better.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number matters.
    arity : int, default=2
        Largest number of children; a node with fewer classes below it has one child a class.

    Returns
    -------
    SoftmaxTree
        With paths of at most ceil(log V / log arity) nodes, numbered in pre-order. The sizes of a node's children
        differ by one at most, the larger ones first.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor counts, or `arity` no integer of at least 2.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import balanced_tree
    >>> balanced_tree(7).to_nested()
    [[[0, 1], [2, 3]], [[4, 5], 6]]
    >>> balanced_tree(7, arity=3).to_nested()
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    n_classes = len(class_counts(counts, "balanced_tree"))
    arity = check_arity(arity, "balanced_tree")
    if n_classes == 1:
        return SoftmaxTree([], [0])
    children, arities = [], []
    # The nodes of one level: each has the classes start..start+size-1 below it.
    starts, sizes, n_nodes = np.array([0]), np.array([n_classes]), 1
    while len(sizes):
        below = np.minimum(arity, sizes)
        parents = np.repeat(np.arange(len(sizes)), below)
        branches = np.arange(len(parents)) - np.repeat(np.cumsum(below) - below, below)
        smaller, n_larger = np.divmod(sizes, below)
        starts = (starts[parents] + branches * smaller[parents]) + np.minimum(branches, n_larger[parents])
        sizes = smaller[parents] + (branches < n_larger[parents])
        inner = sizes > 1
        children.append(np.where(inner, n_nodes + np.cumsum(inner) - 1, ~starts))
        arities.append(below)
        starts, sizes, n_nodes = starts[inner], sizes[inner], n_nodes + int(inner.sum())
    edges, offsets = np.concatenate(children), np.append(0, np.cumsum(np.concatenate(arities)))
    return SoftmaxTree(*renumber(edges, offsets, preorder_numbers(edges, offsets)))
