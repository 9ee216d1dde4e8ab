"""A tree from vectors of the classes, by recursive clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp.trees._arrays import (
    Doubles,
    Floats,
    Ints,
    RandomState,
    as_generator,
    check_arity,
    class_counts,
    positive_counts,
    ranges,
    renumber,
)
from sklearn_hashnlp.trees._balanced_kmeans import (
    Balance,
    balanced_k_means,
    balanced_split,
    exchange,
)
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree

_CAPACITY = 1.5  # maximum size of a cluster below the root, relative to the mean
# Price of a score for each class, times the root of the number of classes; a share of the variance
_PRICE = 0.01
_MIN_SHARE = 1e-12  # minimum weight of a class in a mean, for float32


def cluster_tree(
    counts: ArrayLike | int,
    vectors: ArrayLike,
    *,
    arity: int | Literal["sqrt"] | Sequence[int] = 2,
    leaf_size: int | None = None,
    balance: Literal["auto", "counts", "size", "cost"] = "auto",
    slack: float = 0.4,
    random_state: RandomState = None,
) -> SoftmaxTree:
    """Build a tree by clustering vectors of classes, so that similar classes share most of a path.

    Clusters are split from the root down by balanced two-means [1]_, which keeps paths short; nodes
    with more than two children are split repeatedly. With three children or more, the clusters
    below the root are then improved by k-means, each with at most 1.5 times the mean size, or with
    ``balance="cost"`` by moves of single classes [2]_.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed, or the number of classes for equal counts. Frequent classes
        have a larger weight in the means.
    vectors : array-like of float, shape (V, d)
        A vector for each class, such as the mean hidden state of a trained network over the
        contexts of the class. Classes with zero vectors are put next to each other.
    arity : int, "sqrt" or sequence of int, default=2
        Maximum number of clusters of a node. 2 is a deep binary tree; "sqrt" a tree of two levels
        with about sqrt(V) clusters of about sqrt(V) classes. A sequence has a number for each level
        from the root down, and the clusters below the last level are not split: (100,) is a tree of
        two levels, (150, 10) of three.
    leaf_size : int, default=None
        Maximum number of classes of a cluster below the root that becomes one node with a child for
        each class; by default the arity, and unlimited below the last level of "sqrt" or a
        sequence.
    balance : {"auto", "counts", "size", "cost"}, default="auto"
        What is balanced between the parts of a split: the counts, so that frequent classes have
        short paths, or the number of classes, so that no path is longer than needed. "auto" is
        counts for binary trees and size for others. "cost" starts from "size", and then trades the
        variance within the clusters below the root for the mean number of scores, for trees of two
        levels: frequent classes may be alone in a cluster, and rare ones share large ones.
    slack : float, default=0.4
        Imbalance allowed to follow the clusters, from 0 (as equal as possible) to less than 1
        (nearly any): the smaller part has at least (1 - slack) times its target, unless a class
        outweighs all others.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial directions of two-means; an int gives the same tree for any number of
        threads.

    Returns
    -------
    SoftmaxTree
        Numbered in pre-order.

    References
    ----------
    .. [1] A. Mnih and G. E. Hinton, "A scalable hierarchical distributed language model", NIPS
           2008, section 4.
    .. [2] J. A. Hartigan and M. A. Wong, "A k-means clustering algorithm", Applied Statistics 28,
           1979.

    Examples
    --------
    >>> from sklearn_hashnlp.trees import cluster_tree
    >>> vectors = [[0, 5], [5, 0], [0, 6], [6, 1], [1, 5], [5, 1]]
    >>> cluster_tree(6, vectors, arity=3, random_state=0).depths
    array([2, 2, 2, 2, 2, 2])
    """
    weights = class_counts(counts, "cluster_tree")
    n_classes = len(weights)
    rows = _check_vectors(vectors, n_classes)
    if balance not in ("auto", "counts", "size", "cost"):
        raise ValueError(
            f"cluster_tree: balance must be 'auto', 'counts', 'size' or 'cost', got {balance!r}."
        )
    if not 0 <= slack < 1:
        raise ValueError(f"cluster_tree: slack must be at least 0 and less than 1, got {slack!r}.")
    levels = _levels(arity, leaf_size, n_classes)
    generator = as_generator(random_state, "cluster_tree")
    if n_classes == 1:
        return SoftmaxTree([], [0])
    positive = positive_counts(weights)
    by_counts = balance == "counts" or (balance == "auto" and levels[0][0] == 2)
    shares = np.maximum(positive / positive.sum(), _MIN_SHARE).astype(np.float32)
    price = _PRICE / float(np.sqrt(n_classes)) if balance == "cost" else None
    clusters = _Clusters(rows, shares, positive if by_counts else np.ones(n_classes), slack, price)
    order = np.argsort(-weights, kind="stable")
    return _grow(clusters, order, levels, generator)


def _levels(arity: object, leaf_size: object, n_classes: int) -> list[tuple[int, int]]:
    """Return the maxima of clusters and of unsplit classes per level, the last for deeper ones."""
    if leaf_size is not None and (not is_integer(leaf_size) or leaf_size < 1):
        raise ValueError(
            f"cluster_tree: leaf_size must be an integer of at least 1, got {leaf_size!r}."
        )
    below_last = n_classes if leaf_size is None else int(leaf_size)
    if isinstance(arity, list | tuple) and len(arity):
        arities = [check_arity(number, "cluster_tree") for number in arity]
    elif isinstance(arity, str) and arity == "sqrt":
        arities = [max(2, round(float(np.sqrt(n_classes))))]
    else:
        arities = [check_arity(arity, "cluster_tree")]
        below_last = arities[0] if leaf_size is None else below_last
    # A node with parts of one class each is not split.
    levels = [
        (parts, parts if depth == 0 else max(parts, leaf_size or 1))
        for depth, parts in enumerate(arities)
    ]
    return [*levels, (arities[-1], below_last)]


@dataclass(frozen=True)
class _Clusters:
    """The data of each class for clustering."""

    vectors: Floats  # (V, d)
    weights: Floats  # (V,): weight in a mean
    loads: Doubles  # (V,): amount to balance
    slack: float
    price: float | None  # of a score, as a share of the variance; None limits the loads instead

    def split(
        self, order: Ints, starts: Ints, sizes: Ints, parts: Ints, generator: np.random.Generator
    ) -> tuple[Ints, Ints, Ints]:
        """Reorder classes of clusters into parts; return each part's start, size and cluster."""
        owners = np.arange(len(starts))
        results: list[tuple[Ints, Ints, Ints]] = []
        while len(starts):
            positions = ranges(starts, sizes)
            members = order[positions]
            left_parts = parts // 2
            balance = Balance(self.loads[members], left_parts / parts, self.slack)
            offsets = np.cumsum(sizes) - sizes
            moved, left = balanced_split(
                self.vectors[members], self.weights[members], balance, offsets, generator
            )
            order[positions] = members[moved]
            starts = np.stack([starts, starts + left], axis=1).ravel()
            sizes = np.stack([left, sizes - left], axis=1).ravel()
            owners = np.repeat(owners, 2)
            parts = np.minimum(np.stack([left_parts, parts - left_parts], axis=1).ravel(), sizes)
            whole = parts == 1
            results.append((starts[whole], sizes[whole], owners[whole]))
            starts = starts[~whole]
            sizes = sizes[~whole]
            owners = owners[~whole]
            parts = parts[~whole]
        starts, sizes, owners = (np.concatenate(column) for column in zip(*results, strict=True))
        by_start = np.argsort(starts)
        return starts[by_start], sizes[by_start], owners[by_start]

    def improve(self, order: Ints, start: int, sizes: Ints) -> tuple[Ints, Ints]:
        """Improve neighboring clusters by k-means; return starts and sizes of nonempty ones."""
        whole = slice(start, start + int(sizes.sum()))
        members = order[whole]
        loads = self.loads[members]
        labels = np.repeat(np.arange(len(sizes)), sizes)
        if self.price is not None:
            labels = exchange(self.vectors[members], self.weights[members], labels, self.price)
        else:
            # With equal loads, the capacity is an integer number of classes.
            capacity = max(
                _CAPACITY * loads.sum() / len(sizes),
                np.ceil(_CAPACITY * len(members) / len(sizes)) * loads.min(),
            )
            labels = balanced_k_means(
                self.vectors[members], self.weights[members], loads, labels, capacity
            )
        new_sizes = np.bincount(labels)
        new_sizes = new_sizes[new_sizes > 0]
        if len(new_sizes) > 1:  # else one class that outweighs all others has attracted them
            order[whole] = members[np.argsort(labels, kind="stable")]
            sizes = new_sizes
        return start + np.cumsum(sizes) - sizes, sizes


def _grow(
    clusters: _Clusters, order: Ints, levels: list[tuple[int, int]], generator: np.random.Generator
) -> SoftmaxTree:
    """Split clusters by level, with siblings as neighbors in `order`, initially by frequency."""
    parents: list[Ints] = []
    positions: list[Ints] = []
    children: list[Ints] = []
    # Nodes without children so far: their numbers, and the start and size of their classes in
    # `order`.
    nodes = np.array([0])
    starts = np.array([0])
    sizes = np.array([len(order)])
    n_nodes = 1
    depth = 0

    while True:
        arity, leaf_size = levels[min(depth, len(levels) - 1)]
        flat = sizes <= leaf_size
        leaves = ranges(starts[flat], sizes[flat])
        parents.append(np.repeat(nodes[flat], sizes[flat]))
        positions.append(leaves)
        children.append(~order[leaves])
        nodes = nodes[~flat]
        starts = starts[~flat]
        sizes = sizes[~flat]
        if not len(nodes):
            break
        starts, sizes, owners = clusters.split(
            order, starts, sizes, np.minimum(arity, sizes), generator
        )
        if depth < len(levels) - 1 and arity > 2:
            starts, sizes, owners = _improve(clusters, order, starts, sizes, owners)
        inner = sizes > 1
        parents.append(nodes[owners])
        positions.append(starts)
        children.append(np.where(inner, n_nodes + np.cumsum(inner) - 1, ~order[starts]))
        nodes = n_nodes + np.arange(int(inner.sum()))
        starts = starts[inner]
        sizes = sizes[inner]
        n_nodes = n_nodes + len(nodes)
        depth = depth + 1
    owner_nodes = np.concatenate(parents)
    edges = np.concatenate(children)[np.lexsort((np.concatenate(positions), owner_nodes))]
    offsets = np.append(0, np.cumsum(np.bincount(owner_nodes, minlength=n_nodes)))
    return SoftmaxTree(*renumber(edges, offsets))


def _improve(
    clusters: _Clusters, order: Ints, starts: Ints, sizes: Ints, owners: Ints
) -> tuple[Ints, Ints, Ints]:
    """Improve each owner's parts in order; return starts, sizes and owners of nonempty parts."""
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    improved = [
        clusters.improve(order, int(starts[first]), part)
        for first, part in zip(firsts, np.split(sizes, firsts[1:]), strict=True)
    ]
    n_parts = [len(part) for part, _ in improved]
    starts, sizes = (np.concatenate(column) for column in zip(*improved, strict=True))
    return starts, sizes, np.repeat(owners[firsts], n_parts)


def _check_vectors(vectors: ArrayLike, n_classes: int) -> Floats:
    rows = np.asarray(vectors)
    if (
        rows.ndim != 2
        or len(rows) != n_classes
        or rows.shape[1] == 0
        or rows.dtype.kind not in "iuf"
    ):
        raise ValueError(
            f"cluster_tree: vectors must be numbers of shape ({n_classes}, d), one vector for each "
            f"class, got an array of {rows.dtype} with shape {rows.shape}."
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(
            "cluster_tree: vectors must be finite, got NaN or an infinity for class "
            f"{int(np.argmin(finite))}."
        )
    # Two-means compares squares: scaled to a maximum of one, they cannot overflow float32.
    largest = float(np.abs(rows).max())
    # sums depend on the order
    return (rows / largest if largest > 0 else rows).astype(np.float32, order="C")
