"""Builders of trees that need no vectors, and their names."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp.trees._arrays import (
    RandomState,
    as_generator,
    check_arity,
    class_counts,
    positive_counts,
    renumber,
)
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def balanced_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build a tree of minimum depth: each node distributes its classes evenly over its children.

    The leaves are the classes in their order, so neighboring classes share most of their path. It
    suits classes in a meaningful order; :func:`huffman_tree` has shorter expected paths, and
    :func:`cluster_tree` predicts better.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number is used.
    arity : int, default=2
        Maximum number of children; a node with fewer classes has one child for each.

    Returns
    -------
    SoftmaxTree
        Its paths have at most ceil(log V / log arity) nodes, numbered in pre-order.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import balanced_tree
    >>> balanced_tree(7).to_nested()
    [[[0, 1], [2, 3]], [[4, 5], 6]]
    """
    n_classes = len(class_counts(counts, "balanced_tree"))
    arity = check_arity(arity, "balanced_tree")
    if n_classes == 1:
        return SoftmaxTree([], [0])
    children, arities = [], []
    # The nodes of one level, with the classes start..start+size-1.
    starts = np.array([0])
    sizes = np.array([n_classes])
    n_nodes = 1
    while len(sizes):
        below = np.minimum(arity, sizes)
        parents = np.repeat(np.arange(len(sizes)), below)
        branches = np.arange(len(parents)) - np.repeat(np.cumsum(below) - below, below)
        smaller, n_larger = np.divmod(sizes, below)
        starts = (starts[parents] + branches * smaller[parents]) + np.minimum(
            branches, n_larger[parents]
        )
        sizes = smaller[parents] + (branches < n_larger[parents])
        inner = sizes > 1
        children.append(np.where(inner, n_nodes + np.cumsum(inner) - 1, ~starts))
        arities.append(below)
        starts = starts[inner]
        sizes = sizes[inner]
        n_nodes = n_nodes + int(inner.sum())
    edges, offsets = np.concatenate(children), np.append(0, np.cumsum(np.concatenate(arities)))
    return SoftmaxTree(*renumber(edges, offsets))


def complete_tree(counts: ArrayLike | int) -> SoftmaxTree:
    """Build the complete binary tree: every level except the last is full.

    It is the tree of Paddle's hierarchical sigmoid: in the heap 1, 2, ..., 2V - 1 the inner nodes
    are 1..V-1 and class c is the leaf c + V. So for i = 0 .. bit_length(c + V) - 2, from the leaf
    up, the path of class c has the node ``((c + V) >> (i + 1)) - 1`` and the branch
    ``((c + V) >> i) & 1``; branch 1 is the right child.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Number of classes, or the class counts; only their number is used.

    Returns
    -------
    SoftmaxTree
        With V - 1 inner nodes in heap order.

    References
    ----------
    F. Morin and Y. Bengio, "Hierarchical probabilistic neural network language model", AISTATS
    2005.

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
    """Build a random binary tree: shuffle the classes, then merge neighbors in pairs up to a root.

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
        np.concatenate(children),
        np.arange(0, 2 * n_nodes + 1, 2),
        np.arange(n_nodes)[::-1].astype(np.int64),
    )
    return SoftmaxTree(*renumber(edges, offsets))


def huffman_tree(counts: ArrayLike | int, arity: int = 2) -> SoftmaxTree:
    """Build a Huffman tree: no tree of this arity has a shorter expected path under the counts.

    The least frequent classes are merged first. Unrelated words share nodes, since the tree only
    depends on frequencies: it is fast, but a language model predicts better with
    :func:`cluster_tree`.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed, or the number of classes for equal counts.
    arity : int, default=2
        Number of children of an inner node. The node of the least frequent classes may have fewer.

    Returns
    -------
    SoftmaxTree
        Nodes, and the children of a node, are numbered from the most to the least frequent. Among
        equal counts, single classes are merged before nodes, which keeps the longest path short,
        and smaller classes before larger ones.

    References
    ----------
    D. A. Huffman, "A method for the construction of minimum-redundancy codes", Proceedings of the
    IRE 40, 1952.

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
    n_leaves = len(leaves)
    leaf = 0
    merge = 0
    for take in takes:
        weight = 0.0
        taken = []
        for _ in range(take):
            if merge == len(merge_weights) or (
                leaf < n_leaves and leaf_weights[leaf] <= merge_weights[merge]
            ):
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


def two_level_tree(counts: ArrayLike | int, n_groups: int | None = None) -> SoftmaxTree:
    """Build a tree of two levels: a softmax over groups, then one over the classes of a group.

    Groups are runs of the classes from the most to the least frequent, with nearly equal sums of
    the *square roots* of the counts. With G groups of sizes s and shares m of all counts, a class
    costs ``G + sum(m * s)`` scores on average. These groups minimize the cost; groups of equal
    share, or of equal size, cost G + V / G.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed, or the number of classes for equal counts.
    n_groups : int, default=None
        Number G of groups, 1..V; the tree has fewer if a class outweighs a group. By default the
        number with the fewest scores, the sum of sqrt(p) over the classes' shares p of all counts:
        at most sqrt(V), for equal counts.

    Returns
    -------
    SoftmaxTree
        The most frequent group first. A group of one class is a child of the root, and so are the
        classes of a single group.

    References
    ----------
    T. Mikolov, S. Kombrink, L. Burget, J. Cernocky and S. Khudanpur, "Extensions of recurrent
    neural network language model", ICASSP 2011, for groups by frequency.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import two_level_tree
    >>> two_level_tree([100, 1, 49, 25, 4, 9, 16]).to_nested()
    [[0, 2], [3, 6, 5, 4, 1]]
    """
    weights = class_counts(counts, "two_level_tree")
    shares = positive_counts(weights)
    roots = np.sqrt(shares / shares.sum())
    n_classes = len(roots)
    if n_groups is None:
        n_groups = round(float(roots.sum()))
    elif not is_integer(n_groups) or not 1 <= n_groups <= n_classes:
        raise ValueError(
            f"two_level_tree: n_groups must be in 1..{n_classes}, the number of classes, got "
            f"{n_groups!r}."
        )
    order = np.argsort(-weights, kind="stable")
    middles = np.cumsum(roots[order]) - roots[order] / 2
    groups = np.floor(middles / roots.sum() * n_groups).astype(np.int64)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return tree_of_groups(order, starts)


def tree_of_groups(order: NDArray[np.int64], starts: NDArray[np.int64]) -> SoftmaxTree:
    """Build a tree of two levels from ordered classes and the start of each group."""
    sizes = np.diff(np.append(starts, len(order)))
    if len(order) == 1:
        return SoftmaxTree([], [0])
    if len(sizes) == 1:
        return SoftmaxTree(~order, [0, len(order)])
    is_group = sizes > 1
    top = np.where(is_group, np.cumsum(is_group), ~order[starts])
    below = ~order[np.repeat(is_group, sizes)]
    offsets = np.cumsum(np.concatenate([[0, len(top)], sizes[is_group]]))
    return SoftmaxTree(np.append(top, below), offsets)


ClassTree: TypeAlias = Literal["balanced", "complete", "huffman", "random", "two_level"]
"""Names of the trees that are built from class counts alone."""


def class_tree(
    tree: SoftmaxTree | str, counts: NDArray[np.int64] | int, *, seed: int, caller: str
) -> SoftmaxTree:
    """Return the given tree over the labels of a classifier, or build one by name."""
    if isinstance(tree, SoftmaxTree):
        n_classes = counts if isinstance(counts, int) else len(counts)
        if tree.n_classes != n_classes:
            raise ValueError(
                f"The 'tree' parameter of {caller} must have one class for each label, in the "
                f"order of classes_. Got {tree!r} and {n_classes} labels."
            )
        return tree
    return named_tree(tree, counts, seed=seed)


def named_tree(name: str, counts: ArrayLike | int, *, seed: int) -> SoftmaxTree:
    """Build a tree by the name of its builder."""
    if name == "random":
        return random_tree(counts, random_state=seed)
    builders: dict[str, Any] = {
        "balanced": balanced_tree,
        "complete": complete_tree,
        "huffman": huffman_tree,
        "two_level": two_level_tree,
    }
    built: SoftmaxTree = builders[name](counts)
    return built
