"""A tree of two levels: groups of similar frequency, then classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.trees._counts import class_counts, is_integer, positive_counts
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def two_level_tree(counts: ArrayLike | int, n_groups: int | None = None) -> SoftmaxTree:
    """Build a tree of two levels: a softmax over groups, then a softmax over the classes of a group.

    Groups are runs of the classes from the most to the least frequent, with nearly equal sums of the *square roots* of
    the counts. With G groups of sizes s and shares m of all counts, a class costs ``G + sum(m * s)`` scores on average.
    These groups minimize the cost; groups of equal share, or of equal size, cost G + V / G.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed, or the number of classes for equal counts.
    n_groups : int, default=None
        Number G of groups, 1..V; the tree has fewer if a class outweighs a group. By default the number with the
        fewest scores, the sum of sqrt(p) over the classes' shares p of all counts: at most sqrt(V), for equal counts.

    Returns
    -------
    SoftmaxTree
        The most frequent group first. A group of one class is a child of the root, and so are the classes of a single
        group.

    Raises
    ------
    TypeError, ValueError
        If `counts` is neither a number of classes nor class counts, or `n_groups` is not an integer in 1..V.

    References
    ----------
    T. Mikolov, S. Kombrink, L. Burget, J. Cernocky and S. Khudanpur, "Extensions of recurrent neural network language
    model", ICASSP 2011, for groups by frequency.

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
            f"two_level_tree: n_groups must be in 1..{n_classes}, the number of classes, got {n_groups!r}."
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
