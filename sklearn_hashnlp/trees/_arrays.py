"""Checks of class counts and of the arrays of a tree, and the parents and numbers of its nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp._constraints import is_integer

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState, who: str) -> np.random.Generator:
    """Return a random generator: a new one for None or a seed, the same for a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(np.iinfo(np.int32).max)))
    if random_state is None:
        return np.random.default_rng()
    if not is_integer(random_state):
        raise TypeError(
            f"{who}: random_state must be None, an integer, a numpy Generator or a RandomState, "
            f"got {random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"{who}: random_state must be at least 0, got {random_state}.")
    return np.random.default_rng(int(random_state))


def class_counts(counts: ArrayLike | int, who: str) -> NDArray[np.float64]:
    """Return class counts as float64; ones for a number of classes."""
    if is_integer(counts):
        if counts < 1:
            raise ValueError(
                f"{who}: counts must be the number of classes, 1 or more, got {counts}."
            )
        return np.ones(int(counts))
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise TypeError(
            f"{who}: counts must be the number of classes or a one-dimensional array of class "
            f"counts, got an array of {array.dtype} with shape {array.shape}."
        )
    if not len(array):
        raise ValueError(f"{who}: counts must have one class or more, got an empty array.")
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(
            f"{who}: counts must be finite and at least 0, got {array[index]} for class {index}."
        )
    return array


def check_arity(arity: object, who: str) -> int:
    """Return an arity as int, or raise ValueError unless it is 2 or more."""
    if not is_integer(arity) or arity < 2:
        raise ValueError(f"{who}: arity must be an integer of at least 2, got {arity!r}.")
    return int(arity)


def positive_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace zero counts by half of the smallest positive count."""
    positive = counts[counts > 0]
    return np.where(counts > 0, counts, positive.min() / 2 if len(positive) else 1.0)


Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def integer_array(values: ArrayLike, name: str) -> Ints:
    """Copy one-dimensional integers to a read-only int64 array."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(
            f"SoftmaxTree: {name} must be a one-dimensional array of integers, "
            f"got an array of {array.dtype} with shape {array.shape}."
        )
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def check_tree(children: Ints, offsets: Ints) -> None:
    """Raise a ValueError unless the arrays are a tree with each class 0..V-1 at one leaf."""
    if (
        len(offsets) == 0
        or offsets[0] != 0
        or offsets[-1] != len(children)
        or (np.diff(offsets) < 0).any()
    ):
        raise ValueError(
            f"SoftmaxTree: offsets must ascend from 0 to the number of children, {len(children)}, "
            f"got {_format(offsets)}."
        )
    if len(offsets) == 1:
        return
    arities = np.diff(offsets)
    if (arities < 2).any():
        node = int(np.argmax(arities < 2))
        raise ValueError(
            "SoftmaxTree: each inner node must have two or more children, got "
            f"{int(arities[node])} for node {node}. Replace the node by its child."
        )
    _check_nodes(children, offsets)
    _check_classes(children, edge_parents(offsets))


def _check_nodes(children: Ints, offsets: Ints) -> None:
    n_nodes = len(offsets) - 1
    edges = np.flatnonzero(children >= 0)
    nodes, parents = children[edges], edge_parents(offsets)[edges]
    for wrong, what in (
        (nodes >= n_nodes, f"does not exist: there are {n_nodes} inner nodes"),
        (nodes <= parents, "must have a larger number than its parent"),
    ):
        if wrong.any():
            index = int(np.argmax(wrong))
            raise ValueError(
                f"SoftmaxTree: node {int(parents[index])} has the child {int(nodes[index])}, which "
                f"{what}. Number the inner nodes from the root, 0, down."
            )
    counts = np.bincount(nodes, minlength=n_nodes)[1:]
    if (counts != 1).any():
        node = 1 + int(np.argmax(counts != 1))
        above = parents[nodes == node]
        got = f"{int(above[0])} and {int(above[1])}" if len(above) else "none"
        raise ValueError(
            f"SoftmaxTree: each inner node but the root must have one parent, got {got} for node "
            f"{node}."
        )


def _check_classes(children: Ints, parents: Ints) -> None:
    edges = np.flatnonzero(children < 0)
    classes = ~children[edges]
    ordered = np.sort(classes)
    if (ordered == np.arange(len(ordered))).all():
        return
    wanted = (
        f"SoftmaxTree: each class 0..V-1 must be one leaf, but in a tree of {len(ordered)} leaves"
    )
    duplicates = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(duplicates):
        class_index = int(ordered[duplicates[0]])
        above = parents[edges[classes == class_index]]
        nodes = f"{int(above[0])} and {int(above[1])}"
        raise ValueError(f"{wanted} class {class_index} occurs twice, below the nodes {nodes}.")
    missing = int(np.argmax(ordered != np.arange(len(ordered))))
    raise ValueError(
        f"{wanted} class {missing} is missing, and the largest class is {int(ordered[-1])}."
    )


def _format(values: Ints) -> str:
    return np.array2string(values, threshold=8, edgeitems=3, separator=", ")


def edge_parents(offsets: Ints) -> Ints:
    """Return the parent of each edge."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def sum_to_root(parents: Ints, values: Ints) -> Ints:
    """Return for each inner node the sum of a value over the node and its ancestors."""
    n_nodes = len(parents)
    totals = np.append(values, 0)
    above = np.append(np.where(parents < 0, n_nodes, parents), n_nodes)
    while (above < n_nodes).any():
        totals += totals[above]
        above = above[above]
    return totals[:-1]


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the concatenated ranges start, start + 1, ..., start + size - 1."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(int(sizes.sum()))


def _preorder_numbers(children: Ints, offsets: Ints) -> Ints:
    """Return the pre-order numbers of inner nodes: each before its children, first child first."""
    parents = np.full(len(offsets) - 1, -1, dtype=np.int64)
    of_edges = edge_parents(offsets)
    inner = children >= 0
    parents[children[inner]] = of_edges[inner]
    sizes = _subtree_sizes(parents)
    edge_sizes = np.zeros_like(children)
    edge_sizes[inner] = sizes[children[inner]]
    before = np.cumsum(edge_sizes) - edge_sizes
    steps = np.zeros_like(parents)
    steps[children[inner]] = (1 + before - before[offsets[of_edges]])[inner]
    return sum_to_root(parents, steps)


def renumber(children: Ints, offsets: Ints, new_numbers: Ints | None = None) -> tuple[Ints, Ints]:
    """Return ``children`` and ``offsets`` with renumbered nodes, by default in pre-order."""
    new_numbers = _preorder_numbers(children, offsets) if new_numbers is None else new_numbers
    arities = np.empty(len(new_numbers), dtype=np.int64)
    arities[new_numbers] = np.diff(offsets)
    new_offsets = np.append(0, np.cumsum(arities))
    parents = edge_parents(offsets)
    positions = new_offsets[new_numbers[parents]] + np.arange(len(children)) - offsets[parents]
    new_children = np.empty_like(children)
    new_children[positions] = children
    inner = children >= 0
    new_children[positions[inner]] = new_numbers[children[inner]]
    return new_children, new_offsets


def _subtree_sizes(parents: Ints) -> Ints:
    depths = sum_to_root(parents, np.ones_like(parents))
    order = np.argsort(depths, kind="stable")
    sizes = np.ones_like(parents)
    levels = np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)
    for nodes in reversed(levels[1:]):
        np.add.at(sizes, parents[nodes], sizes[nodes])
    return sizes
