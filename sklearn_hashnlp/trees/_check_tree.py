"""What makes two arrays a tree, and the errors that say what is missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.trees._numbering import edge_parents

Ints = NDArray[np.int64]


def integer_array(values: ArrayLike, name: str) -> Ints:
    """Copy one-dimensional integers to an int64 array that nobody can write to."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(
            f"SoftmaxTree wants {name} as a one-dimensional array of integers, "
            f"but an array of {array.dtype} with shape {array.shape} came."
        )
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def check_tree(children: Ints, offsets: Ints) -> None:
    """Raise ValueError unless the arrays describe a tree with each class 0..V-1 at one leaf."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(children) or (np.diff(offsets) < 0).any():
        raise ValueError(
            f"SoftmaxTree wants offsets that rise from 0 to the number of children, {len(children)}, "
            f"but {_shown(offsets)} came."
        )
    if len(offsets) == 1:
        return
    arities = np.diff(offsets)
    if (arities < 2).any():
        node = int(np.argmax(arities < 2))
        raise ValueError(
            f"SoftmaxTree wants two or more children below each inner node, but node {node} has {int(arities[node])}. "
            "Put its child in its place."
        )
    _check_nodes(children, offsets)
    _check_classes(children, edge_parents(offsets))


def _check_nodes(children: Ints, offsets: Ints) -> None:
    n_nodes = len(offsets) - 1
    edges = np.flatnonzero(children >= 0)
    nodes, parents = children[edges], edge_parents(offsets)[edges]
    for wrong, what in (
        (nodes >= n_nodes, f"is not there: there are {n_nodes} inner nodes"),
        (nodes <= parents, "has no larger number than its parent"),
    ):
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValueError(
                f"SoftmaxTree: node {int(parents[place])} has the child {int(nodes[place])}, which {what}. "
                "Number the inner nodes from the root, 0, downwards."
            )
    times = np.bincount(nodes, minlength=n_nodes)[1:]
    if (times != 1).any():
        node = 1 + int(np.argmax(times != 1))
        above = parents[nodes == node]
        what = f"the nodes {int(above[0])} and {int(above[1])} both have it" if len(above) else "no node has it"
        raise ValueError(f"SoftmaxTree wants each inner node but the root as one node's child: {what} for node {node}.")


def _check_classes(children: Ints, parents: Ints) -> None:
    edges = np.flatnonzero(children < 0)
    classes = ~children[edges]
    ordered = np.sort(classes)
    if (ordered == np.arange(len(ordered))).all():
        return
    wanted = f"SoftmaxTree wants each class 0..V-1 at one leaf, but in a tree of {len(ordered)} leaves"
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        number = int(ordered[twice[0]])
        above = parents[edges[classes == number]]
        raise ValueError(f"{wanted} class {number} stands twice, below the nodes {int(above[0])} and {int(above[1])}.")
    missing = int(np.argmax(ordered != np.arange(len(ordered))))
    raise ValueError(f"{wanted} class {missing} is missing, and the largest class is {int(ordered[-1])}.")


def _shown(values: Ints) -> str:
    return np.array2string(values, threshold=8, edgeitems=3, separator=", ")
