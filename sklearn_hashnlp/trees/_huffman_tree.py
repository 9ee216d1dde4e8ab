"""The tree with the shortest expected path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp.trees._arrays import renumber
from sklearn_hashnlp.trees._counts import check_arity, class_counts
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def huffman_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build Huffman's tree: no tree of this arity has a shorter expected path under the counts.

    The least frequent classes are joined first. It looks at nothing but frequency, so that words which have nothing to
    do with each other share nodes: fast, but for a language model :func:`cluster_tree` predicts better.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed; a number of classes stands for equal counts.
    arity : int, default=2
        Children of an inner node. Where V does not come out even, the node of the least frequent classes has fewer.

    Returns
    -------
    SoftmaxTree
        Nodes are numbered from the most to the least frequent, and so are the children of a node. Of equal counts,
        single classes are joined before nodes, which keeps the longest path short, and smaller class numbers before
        larger ones.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor counts, or `arity` no integer of at least 2.

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
    # Each join takes `arity` and puts one back; the first takes fewer, so that the last finds just enough.
    n_joins = -(-(n_classes - 1) // (arity - 1))
    takes = np.full(n_joins, arity)
    takes[0] = n_classes - (n_joins - 1) * (arity - 1)
    order = np.argsort(weights, kind="stable")
    offsets = np.append(0, np.cumsum(takes))
    children = _join(weights[order].tolist(), (~order).tolist(), takes.tolist())
    return SoftmaxTree(*renumber(children, offsets, np.arange(n_joins)[::-1]))


def _join(leaf_weights: list[float], leaves: list[int], takes: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the children of each join, in the order of joining."""
    children: list[int] = []
    join_weights: list[float] = []
    n_leaves, leaf, join = len(leaves), 0, 0
    for take in takes:
        weight = 0.0
        taken = []
        for _ in range(take):
            if join == len(join_weights) or (leaf < n_leaves and leaf_weights[leaf] <= join_weights[join]):
                weight += leaf_weights[leaf]
                taken.append(leaves[leaf])
                leaf += 1
            else:
                weight += join_weights[join]
                taken.append(join)
                join += 1
        join_weights.append(weight)
        children.extend(reversed(taken))
    return np.array(children, dtype=np.int64)
