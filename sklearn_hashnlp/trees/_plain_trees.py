"""Trees that only depend on the number of classes: balanced, complete, random."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._arrays import preorder_numbers, renumber
from sklearn_hashnlp.trees._counts import RandomState, as_generator, check_arity, class_counts
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def balanced_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build a tree of minimum depth: each node distributes its classes evenly over its children.

    The leaves are the classes in their order, so neighboring classes share most of their path. It suits classes in a
    meaningful order; :func:`huffman_tree` has shorter expected paths, and :func:`cluster_tree` predicts better.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number is used.
    arity : int, default=2
        Maximum number of children; a node with fewer classes has one child for each.

    Returns
    -------
    SoftmaxTree
        Its paths have at most ceil(log V / log arity) nodes, numbered in pre-order. The sizes of a node's children
        differ by at most one, the larger ones first.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor class counts, or `arity` is not an integer of at least 2.

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
    # The nodes of one level, with the classes start..start+size-1.
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


def complete_tree(counts: ArrayLike | int) -> SoftmaxTree:
    """Build the complete binary tree: every level except the last is full.

    It is the tree of Paddle's hierarchical sigmoid: in the heap 1, 2, ..., 2V - 1 the inner nodes are 1..V-1 and class
    c is the leaf c + V. So for i = 0 .. bit_length(c + V) - 2, from the leaf up, the path of class c has the node
    ``((c + V) >> (i + 1)) - 1`` and the branch ``((c + V) >> i) & 1``; branch 1 is the right child.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number is used.

    Returns
    -------
    SoftmaxTree
        With V - 1 inner nodes in heap order.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor class counts.

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


def random_tree(counts: ArrayLike | int, *, random_state: RandomState = None) -> SoftmaxTree:
    """Build a random binary tree: shuffle the classes, then merge neighbors in pairs until one node is left.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number is used.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order of the classes; an int gives the same tree every time.

    Returns
    -------
    SoftmaxTree
        Numbered in pre-order; its paths have at most ceil(log2 V) nodes.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor class counts, or `random_state` is invalid.

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
    # Merges were numbered from the leaves up; the last is the root.
    edges, offsets = renumber(
        np.concatenate(children), np.arange(0, 2 * n_nodes + 1, 2), np.arange(n_nodes)[::-1].astype(np.int64)
    )
    return SoftmaxTree(*renumber(edges, offsets, preorder_numbers(edges, offsets)))
