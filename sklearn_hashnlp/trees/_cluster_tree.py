"""A tree learned from what the contexts of classes look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.trees._arrays import preorder_numbers, renumber
from sklearn_hashnlp.trees._balanced_kmeans import Balance, balanced_means, balanced_split
from sklearn_hashnlp.trees._counts import (
    RandomState,
    as_generator,
    check_arity,
    class_counts,
    is_integer,
    positive_counts,
)
from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

# How much larger than the mean a cluster below the root may be.
_CAPACITY = 1.5
# No class weighs less in a mean, whose sum is float32.
_LEAST_SHARE = 1e-12


def cluster_tree(
    counts: ArrayLike | int,
    vectors: ArrayLike,
    *,
    arity: int | Literal["sqrt"] = 2,
    n_direct: int = 0,
    leaf_size: int | None = None,
    balance: Literal["auto", "counts", "size"] = "auto",
    slack: float = 0.4,
    random_state: RandomState = None,
) -> SoftmaxTree:
    """Build a tree in which classes that occur in like contexts stand close to each other.

    Clusters are split from the root down by two-means over the vectors, balanced so that no path grows long; a node of
    more children is split several times over. With three children or more, the clusters below the root are then
    improved by k-means with at most 1.5 times the mean size.

    Parameters
    ----------
    counts : int or array-like of shape (V,)
        Class counts, zeros allowed; a number of classes stands for equal counts. Frequent classes weigh more in the
        means.
    vectors : array-like of float, shape (V, d)
        What is known of each class, such as the mean of a trained network's hidden layer over the contexts in which the
        class followed. Classes of which nothing is known, all zero, come to stand together.
    arity : int or "sqrt", default=2
        Largest number of children of a node. 2 gives a deep binary tree; "sqrt" one of two levels, with about sqrt(V)
        clusters of about sqrt(V) classes, which predicts best and costs most.
    n_direct : int, default=0
        So many of the most frequent classes hang directly below the root, beside the clusters, as in the head of an
        adaptive softmax.
    leaf_size : int, default=None
        A cluster below the root of at most so many classes is one node with a child for each; by default the arity, and
        with "sqrt" any number of classes.
    balance : {"auto", "counts", "size"}, default="auto"
        What the parts of a split have about equal amounts of: of counts, so that frequent classes have short paths; or
        of classes, so that no path is longer than needed. "auto" takes counts for binary trees and size for others.
    slack : float, default=0.4
        How far from equal a split may be in favour of clusters as they lie, from 0 (the most equal split) to less than
        1 (nearly any): the smaller part has at least (1 - slack) times what it should have, if a class that outweighs
        the others does not forbid it.
    random_state : int, Generator, RandomState or None, default=None
        Where two-means begin; an int gives the same tree every time, for any number of threads.

    Returns
    -------
    SoftmaxTree
        Numbered in pre-order.

    Raises
    ------
    TypeError
        If `counts` are no counts, or `random_state` is none of the above.
    ValueError
        If there is not one finite vector for each class, or a parameter is outside its range.

    References
    ----------
    A. Mnih and G. E. Hinton, "A scalable hierarchical distributed language model", NIPS 2008, section 4.

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
    if not is_integer(n_direct) or not 0 <= n_direct <= n_classes:
        raise ValueError(
            f"cluster_tree wants n_direct in 0..{n_classes}, the number of classes, but {n_direct!r} came."
        )
    if balance not in ("auto", "counts", "size"):
        raise ValueError(f"cluster_tree wants balance='auto', 'counts' or 'size', but {balance!r} came.")
    if not 0 <= slack < 1:
        raise ValueError(f"cluster_tree wants a slack of at least 0 and less than 1, but {slack!r} came.")
    if arity == "sqrt":
        largest = max(2, round(float(np.sqrt(n_classes - n_direct))))
        flat_size = n_classes if leaf_size is None else leaf_size
    else:
        largest = check_arity(arity, "cluster_tree")
        flat_size = largest if leaf_size is None else leaf_size
    if not is_integer(flat_size) or flat_size < 1:
        raise ValueError(f"cluster_tree wants an integer leaf_size of at least 1, but {leaf_size!r} came.")
    generator = as_generator(random_state, "cluster_tree")
    if n_classes == 1:
        return SoftmaxTree([], [0])
    positive = positive_counts(weights)
    by_counts = balance == "counts" or (balance == "auto" and largest == 2)
    shares = np.maximum(positive / positive.sum(), _LEAST_SHARE).astype(np.float32)
    clusters = _Clusters(rows, shares, positive if by_counts else np.ones(n_classes), slack)
    order = np.argsort(-weights, kind="stable")
    return _grow(clusters, order, largest, n_direct, flat_size, generator)


@dataclass(frozen=True)
class _Clusters:
    """What is known of each class."""

    vectors: Floats
    weights: Floats
    loads: Doubles
    slack: float

    def split(
        self, order: Ints, starts: Ints, sizes: Ints, parts: Ints, generator: np.random.Generator
    ) -> tuple[Ints, Ints, Ints]:
        """Rearrange the classes of each cluster into parts; give each part's start, size and cluster, by start."""
        owners = np.arange(len(starts))
        done: list[tuple[Ints, Ints, Ints]] = []
        while len(starts):
            places = _ranges(starts, sizes)
            members = order[places]
            left_parts = parts // 2
            rule = Balance(self.loads[members], left_parts / parts, self.slack)
            begins = np.cumsum(sizes) - sizes
            moved, left = balanced_split(self.vectors[members], self.weights[members], rule, begins, generator)
            order[places] = members[moved]
            starts = np.stack([starts, starts + left], axis=1).ravel()
            sizes = np.stack([left, sizes - left], axis=1).ravel()
            owners = np.repeat(owners, 2)
            parts = np.minimum(np.stack([left_parts, parts - left_parts], axis=1).ravel(), sizes)
            whole = parts == 1
            done.append((starts[whole], sizes[whole], owners[whole]))
            starts, sizes, owners, parts = starts[~whole], sizes[~whole], owners[~whole], parts[~whole]
        starts, sizes, owners = (np.concatenate(column) for column in zip(*done, strict=True))
        by_start = np.argsort(starts)
        return starts[by_start], sizes[by_start], owners[by_start]

    def improve(self, order: Ints, start: int, sizes: Ints) -> tuple[Ints, Ints]:
        """Improve neighbouring clusters by balanced k-means; give the starts and sizes of those that are left."""
        members = order[start:]
        loads = self.loads[members]
        labels = np.repeat(np.arange(len(sizes)), sizes)
        # Where loads are equal, that is a whole number of classes.
        capacity = max(
            _CAPACITY * loads.sum() / len(sizes), np.ceil(_CAPACITY * len(members) / len(sizes)) * loads.min()
        )
        labels = balanced_means(self.vectors[members], self.weights[members], loads, labels, capacity)
        new_sizes = np.bincount(labels)
        new_sizes = new_sizes[new_sizes > 0]
        if len(new_sizes) > 1:  # one class that outweighs all others may draw them in
            order[start:] = members[np.argsort(labels, kind="stable")]
            sizes = new_sizes
        return start + np.cumsum(sizes) - sizes, sizes


def _grow(
    clusters: _Clusters, order: Ints, arity: int, n_direct: int, leaf_size: int, generator: np.random.Generator
) -> SoftmaxTree:
    """Split clusters level by level; those of a node stand side by side in `order`."""
    n_classes = len(order)
    direct = np.arange(n_direct)
    parents, places, children = [np.zeros(n_direct, dtype=np.int64)], [direct], [~order[direct]]
    # The nodes without children yet: their numbers, and where their classes stand.
    nodes, starts, sizes, n_nodes = np.array([0]), np.array([n_direct]), np.array([n_classes - n_direct]), 1
    while len(nodes):
        is_root = n_nodes == 1
        flat = sizes <= (arity if is_root else leaf_size)
        leaves = _ranges(starts[flat], sizes[flat])
        parents.append(np.repeat(nodes[flat], sizes[flat]))
        places.append(leaves)
        children.append(~order[leaves])
        nodes, starts, sizes = nodes[~flat], starts[~flat], sizes[~flat]
        if not len(nodes):
            break
        starts, sizes, owners = clusters.split(order, starts, sizes, np.minimum(arity, sizes), generator)
        if is_root and arity > 2:
            starts, sizes = clusters.improve(order, n_direct, sizes)
            owners = np.zeros_like(starts)
        inner = sizes > 1
        parents.append(nodes[owners])
        places.append(starts)
        children.append(np.where(inner, n_nodes + np.cumsum(inner) - 1, ~order[starts]))
        nodes = n_nodes + np.arange(int(inner.sum()))
        starts, sizes, n_nodes = starts[inner], sizes[inner], n_nodes + len(nodes)
    above = np.concatenate(parents)
    edges = np.concatenate(children)[np.lexsort((np.concatenate(places), above))]
    offsets = np.append(0, np.cumsum(np.bincount(above, minlength=n_nodes)))
    return SoftmaxTree(*renumber(edges, offsets, preorder_numbers(edges, offsets)))


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return start, start + 1, ..., start + size - 1 of each, end to end."""
    begins = np.cumsum(sizes) - sizes
    return np.repeat(starts - begins, sizes) + np.arange(int(sizes.sum()))


def _check_vectors(vectors: ArrayLike, n_classes: int) -> Floats:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or len(rows) != n_classes or rows.shape[1] == 0 or rows.dtype.kind not in "iuf":
        raise ValueError(
            f"cluster_tree wants vectors of numbers with shape ({n_classes}, d), one for each class, "
            f"but an array of {rows.dtype} with shape {rows.shape} came."
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"cluster_tree wants finite vectors, but that of class {int(np.argmin(finite))} has a NaN or an infinity."
        )
    # Two-means compare squares: brought to a size of about one, no square leaves float32's range.
    largest = float(np.abs(rows).max())
    return (rows / largest if largest > 0 else rows).astype(np.float32)
