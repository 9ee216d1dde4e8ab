"""Huffman trees, which have the shortest expected path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._arrays import renumber
from sklearn_hashnlp.trees._counts import check_arity, class_counts
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def huffman_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build a Huffman tree: no tree of this arity has a shorter expected path under the counts.

    The least frequent classes are merged first. Unrelated words share nodes, since the tree only depends on
    frequencies: it is fast, but a language model predicts better with :func:`cluster_tree`.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed, or the number of classes for equal counts.
    arity : int, default=2
        Number of children of an inner node. The node of the least frequent classes may have fewer.

    Returns
    -------
    SoftmaxTree
        Nodes, and the children of a node, are numbered from the most to the least frequent. Among equal counts, single
        classes are merged before nodes, which keeps the longest path short, and smaller classes before larger ones.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor class counts, or `arity` is not an integer of at least 2.

    References
    ----------
    D. A. Huffman, "A method for the construction of minimum-redundancy codes", Proceedings of the IRE 40, 1952.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import huffman_tree
    >>> tree = huffman_tree([50, 30, 10, 10])
    >>> tree.depths
    array([1, 2, 3, 3])
    >>> tree.expected_depth([50, 30, 10, 10])
    1.7
    """
    weights = class_counts(counts, "huffman_tree")
    arity = check_arity(arity, "huffman_tree")
    n_classes = len(weights)
    if n_classes == 1:
        return SoftmaxTree([], [0])
    # Each merge replaces `arity` items by one; the first takes fewer, so that the last has `arity`.
    n_merges = -(-(n_classes - 1) // (arity - 1))
    takes = np.full(n_merges, arity)
    takes[0] = n_classes - (n_merges - 1) * (arity - 1)
    order = np.argsort(weights, kind="stable")
    offsets = np.append(0, np.cumsum(takes))
    children = _merge(weights[order].tolist(), (~order).tolist(), takes.tolist())
    return SoftmaxTree(*renumber(children, offsets, np.arange(n_merges)[::-1]))


def _merge(
    leaf_weights: list[float], leaves: list[int], takes: list[int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the children of each merge, in the order of merging."""
    children: list[int] = []
    merge_weights: list[float] = []
    n_leaves, leaf, merge = len(leaves), 0, 0
    for take in takes:
        weight = 0.0
        taken = []
        for _ in range(take):
            if merge == len(merge_weights) or (leaf < n_leaves and leaf_weights[leaf] <= merge_weights[merge]):
                weight += leaf_weights[leaf]
                taken.append(leaves[leaf])
                leaf += 1
            else:
                weight += merge_weights[merge]
                taken.append(merge)
                merge += 1
        merge_weights.append(weight)
        children.extend(reversed(taken))
    return np.array(children, dtype=np.int64)
